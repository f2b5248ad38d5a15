--- Whole files: a reader never sees half of a written one, and reading never waits; and which kind their bytes are.
--
--   local files = koine.files
--   assert(files.write("run.json", run:dump()))
--   local text = assert(files.read "run.json")

local core = require "koine.core"
local check = require "koine.data.check"

--- The MIME type of a file's bytes, or nil: see files/media_type.lua.
local files = { media_type = require "koine.data.files.media_type" }

local READ_MAX = 64 << 20 -- bytes

local BYTES = check.integer(0)

--- Replaces the file at `path` by these bytes (strings): true, or nil, err and the file as it was (kind "limit", code
-- "full", where the disk, a quota or a limit leaves no room; else "other").
-- A new file beside it, of mode 0600, is flushed to the disk and then gets the name: a reader sees the old bytes
-- or the new ones, also when this process is killed or the disk is full. Refuses to replace anything but a regular
-- file, a symbolic link too. Raises an ArgumentError.
function files.write(path, bytes)
  check.path(path, "path")
  return core.file_write(path, check.string(bytes, "bytes"))
end

--- The bytes of the file at `path`, of at most `max` bytes (64 MiB): a string, or nil, err: kind "limit" beyond, else
-- "other", with code "absent" where there is none. Refuses anything but a regular file, a pipe say: it never waits.
-- Raises an ArgumentError.
function files.read(path, max)
  check.path(path, "path")
  if max == nil then max = READ_MAX end
  return core.file_read_any(path, BYTES(max, "max"))
end

return files
