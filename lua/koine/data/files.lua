--- Whole files: written so that nobody ever sees half of one, read so that nothing is waited for.
--
--   local files = koine.files
--   assert(files.write("run.json", run:dump()))
--   local text = assert(files.read "run.json")

local core = require "koine.core"
local errors = require "koine.data.errors"

local files = {}

local READ_MAX = 64 << 20 -- bytes

local function check_path(path)
  if type(path) ~= "string" or path == "" or path:find("\0", 1, true) then
    errors.argument("path", "path of a file, a string without NUL", path)
  end
end

--- Replaces the file at `path` by these bytes (strings): true, or nil, err (kind "other") and the file as it was.
-- A new file beside it, of mode 0600, is flushed to the disk and then gets the name: whoever reads sees the old bytes
-- or the new ones, also when this process is killed or the disk is full. What is there and is no regular file is
-- refused, a symbolic link too. Raises an ArgumentError.
function files.write(path, bytes)
  check_path(path)
  if type(bytes) ~= "string" then errors.argument("bytes", "string", bytes) end
  return core.file_write(path, bytes)
end

--- The bytes of the file at `path`, of at most `max` bytes (64 MiB): a string, or nil, err: kind "limit" beyond, else
-- "other", with code "absent" where there is none. What is no regular file, a pipe say, is refused: nothing is waited
-- for. Raises an ArgumentError.
function files.read(path, max)
  check_path(path)
  if max == nil then max = READ_MAX end
  if math.type(max) ~= "integer" or max < 0 then errors.argument("max", "integer, bytes", max) end
  return core.file_read_any(path, max)
end

return files
