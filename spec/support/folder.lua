-- Folders of a spec's own, below the system's temporary one.

local lfs = require "lfs"

local folder = {}

--- A new empty folder; ends without a slash.
function folder.new()
  local path = os.tmpname()
  os.remove(path)
  assert(lfs.mkdir(path))
  return path
end

--- Removes it with all that is in it.
function folder.remove(path) assert(os.execute(("rm -rf '%s'"):format(path))) end

return folder
