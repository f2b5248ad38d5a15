--- Files and commands through somebody else, an editor for one: its text of a file that is not saved yet, its terminal.
-- What may be touched is judged here all the same: a path is given on only where the working directory's own rules let
-- it pass, as an absolute path without links. Between that and what the other side does the path may lead elsewhere.

local errors = require "koine.data.errors"

local through = {}

local methods = {}
local metatable = { __index = methods, __name = "koine.executor.through" }

for _, name in ipairs { "path", "in_place", "stat", "locate", "list", "close" } do
  methods[name] = function(self, ...) return self.files[name](self.files, ...) end
end

-- Whether the path leads to a file, or to nothing yet.
local function may_be_file(files, path)
  local kind, err = files:stat(path)
  return kind == "file" or not kind and err.code == "absent"
end

--- As a workdir's. What the other side cannot read is read here.
function methods:read(path, max)
  local whole = self.other.read and may_be_file(self.files, path) and self.files:locate(path, false)
  local bytes, err
  if whole then bytes, err = self.other.read(whole) end
  if not bytes then
    if errors.is_error(err) and err.kind == "cancelled" then return nil, err end
    return self.files:read(path, max)
  end
  if #bytes <= max then return bytes end
  return nil, errors.new { kind = "limit", message = ("%s: more than %d bytes"):format(path, max) }
end

--- As a workdir's. Bytes that are no UTF-8 are written here.
function methods:write(path, bytes)
  if not self.other.write or not utf8.len(bytes) or not may_be_file(self.files, path) then
    return self.files:write(path, bytes)
  end
  local whole, refused = self.files:locate(path, true)
  if not whole then return nil, refused end
  local ok, err = self.other.write(whole, bytes)
  if ok then return true end
  return nil, errors.new { kind = "other", message = ("%s: %s"):format(path, errors.words(err)) }
end

--- The files of a workdir as `other` shows them: {read = function(path) → bytes or nil, err, write = function(path,
-- bytes) → true or nil, err}; a function that is missing leaves it to the workdir.
function through.files(files, other)
  if not other.read and not other.write then return files end
  return setmetatable({ files = files, other = other }, metatable)
end

return through
