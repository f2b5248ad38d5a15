--- A JSON file of the user's, of mode 0600, that processes share: what logins leave behind, pins of tools. It is an
-- object with `format` and `version`, replaced in one step, under a lock. A file that cannot be read, or is no such
-- file, is an error; one that is missing or empty is made by the first change.

local core = require "koine.core"
local errors = require "koine.data.errors"
local judge = require "koine.data.schema.judge"
local wait = require "koine.task.wait"

local methods = {}
local metatable = { __index = methods, __name = "koine.mcp.kept_file" }

local function failure(self, words, code)
  return nil, errors.new { kind = "other", code = code, retryable = false, message = self.path .. ": " .. words }
end

-- The file under a lock of ours, made where it is missing: or nil, err.
local function hold(self)
  local of = self.of
  local latest = wait.now() + of.patience
  while true do
    local lock, err = core.file_lock(self.path)
    if lock or lock == nil then return lock, err end
    if wait.now() >= latest then return failure(self, "other processes hold the lock of the " .. of.what, "locked") end
    local slept, interrupted = wait.sleep(of.pause * (1 + math.random()) / 2)
    if not slept then return nil, interrupted end
  end
end

-- The data in a text; or nil, err, which shows what is wrong only where that is no secret.
local function parse(self, text)
  local of = self.of
  if text == "" then return of.empty() end
  local value, err = core.decode(text)
  local fits, why = value ~= nil, err and err.message
  if fits then fits, why = judge.validate(of.schema, of.schema, value, "", true) end
  if fits then return value end
  return failure(self, of.is_secret and of.no or ("%s: %s"):format(of.no, why), of.bad)
end

local function encoded(self, data)
  data.format, data.version = self.of.format, self.of.version
  return core.encode(data) .. "\n"
end

--- The data as they are, without the lock; or nil, err.
function methods:read()
  local text, err = core.file_read(self.path, self.of.max)
  if text then return parse(self, text) end
  if err.code == "absent" then return self.of.empty() end
  return nil, err
end

--- Changes the data while nobody else can: f(data) returns a value (not nil), or nil, err; it may wait. What it changed
-- is kept in both cases. Returns what f returned; or nil, err, where the file cannot be read or written, or others hold
-- it for too long.
function methods:change(f)
  local lock <close>, err = hold(self)
  if not lock then return nil, err end
  local text, data
  text, err = lock:read(self.of.max)
  if not text then return nil, err end
  data, err = parse(self, text)
  if not data then return nil, err end
  local value, failed = f(data)
  local after = encoded(self, data)
  if after ~= text then
    local written
    written, err = lock:write(after)
    if not written then return nil, err end
  end
  return value, failed
end

--- The file at `path`. `of` says what it is:
--   format, version, schema   of the whole object, a JSON Schema
--   empty           function() → the data of a new file
--   max             bytes
--   what, no, bad   the things in it in words; what a file is that is another one ("no pins"), and the error's code
--   is_secret       true: errors do not say what is wrong in it
--   patience, pause seconds that `change` waits for the lock, and between two tries for it at most
return function(path, of) return setmetatable({ path = path, of = of }, metatable) end
