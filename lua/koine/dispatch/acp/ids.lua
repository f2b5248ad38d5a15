--- The ids of agents' sessions by thread: in memory, in a file that is replaced after every change, or in a store.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local files = require "koine.data.files"

local ids = {}

local PREFIX = "acp:" -- of keys in a store

local methods = {}
local metatable = { __index = methods }

-- Reads the file. Raises an ArgumentError where it is there and holds something else.
local function load(path)
  local bytes, err = files.read(path)
  if not bytes and err.code == "absent" then return {} end
  local map = bytes and core.decode(bytes)
  if type(map) ~= "table" or getmetatable(map) == core.array_mt then
    core.raise_argument("file", "file of sessions", err and errors.words(err) or "another file")
  end
  return map
end

-- Writes the file: true, or nil, err. What was not written is noted.
local function save(self)
  if not self.path then return true end
  local ok, err = files.write(self.path, core.encode(self.map))
  self.unsaved = not ok
  return ok, err
end

-- Forgets for good what `forget` could not forget by then: true, or nil, err.
local function settle(self, key)
  if self.unsaved then return save(self) end
  if not self.forgotten[key] then return true end
  local ok, err = self.store:delete(PREFIX .. key)
  if not ok then return nil, err end
  self.forgotten[key] = nil
  return true
end

--- The id of a thread's session, or nil; nil, err of the store, and of a file that could not be written since: an id
-- that was forgotten would be there again in the next process.
function methods:get(key)
  local ok, problem = settle(self, key)
  if not ok then return nil, problem end
  if not self.store then
    local id = self.map[key]
    return type(id) == "string" and id or nil
  end
  local id, err = self.store:get(PREFIX .. key)
  return id, id == nil and err or nil
end

--- Keeps the id of a thread's session: true, or nil, err.
function methods:put(key, id)
  if self.store then
    self.forgotten[key] = nil
    local version, err = self.store:put(PREFIX .. key, id)
    if not version then return nil, err end
    return true
  end
  self.map[key] = id
  return save(self)
end

--- Forgets the id of a thread's session, without waiting: in a store when it is asked for next; in a file
-- that cannot be written now then, or by `close`. Returns nothing.
function methods:forget(key)
  if self.store then
    self.forgotten[key] = true
    return
  end
  self.map[key] = nil
  save(self)
end

--- Writes the file once more where the last change is not in it. Returns nothing; does not wait.
function methods:close()
  if self.unsaved then save(self) end
end

--- The ids in a file (its path, nil: none) or a store (nil: none). Raises an ArgumentError for both, and for a file of
-- something else.
function ids.new(path, store)
  if path and store then check.refuse("file", "either file or store", path) end
  return setmetatable({ path = path, store = store, map = path and load(path) or {}, forgotten = {},
    unsaved = false }, metatable)
end

return ids
