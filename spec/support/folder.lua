-- Folders of a spec's own, below the system's temporary one or the one that tools/run-tests.lua gives it.

local lfs = require "lfs"

local folder = {}

--- A new empty folder; ends without a slash.
function folder.new()
  local path = os.tmpname()
  os.remove(path)
  assert(lfs.mkdir(path))
  return path
end

--- The same in memory, where the system has such folders: for tests that write thousands of files to the disk. Its name
-- holds the other one's whole path: the runner finds it by that.
function folder.in_memory()
  local path = folder.new()
  local memory = "/dev/shm/koine" .. path:gsub("/", "-")
  if not lfs.mkdir(memory) then return path end
  os.remove(path)
  return memory
end

--- Removes it with all that is in it.
function folder.remove(path) assert(os.execute(("rm -rf '%s'"):format(path))) end

return folder
