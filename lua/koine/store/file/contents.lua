--- The bytes of values and items: a file for each, written beside, flushed and renamed, and then named in the journal.
-- Its name is the number of the version or sequence, which the next operation uses again where this one did not come to
-- its end: so a process that is killed leaves at most one file, and that one is replaced. The file begins with the
-- key or queue, which is compared when it is read.

local core = require "koine.core"
local errors = require "koine.data.errors"

local contents = {}

local KEY = "<s2"
local ROOM = 1024 -- bytes of a file beside its value

local methods = {}
local metatable = { __index = methods }

--- The files below a directory of the store (koine.data path without a slash at its end).
function contents.new(directory) return setmetatable({ directory = directory }, metatable) end

local function path_of(self, number) return ("%s/%d"):format(self.directory, number) end

--- Writes the file of a number: true, or nil, err.
function methods:write(number, name, bytes)
  return core.file_write(path_of(self, number), string.pack(KEY, name) .. bytes)
end

--- The bytes of a number; nil, err (kind "protocol" where the file is another one's, or not whole).
function methods:read(number, name, size)
  local path = path_of(self, number)
  local whole, err = core.file_read(path, size + ROOM)
  if not whole and err.kind ~= "limit" and err.code ~= "absent" then return nil, err end
  local fits, of, at = pcall(string.unpack, KEY, whole or "")
  if not fits or of ~= name or #whole - at + 1 ~= size then
    return nil, errors.new { kind = "protocol",
      message = ("%s: %s"):format(path, whole and "this is not what was stored" or tostring(err)) }
  end
  return whole:sub(at)
end

--- Removes the file of a number; one that cannot be removed stays.
function methods:remove(number) core.file_remove(path_of(self, number)) end

return contents
