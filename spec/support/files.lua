-- Whole files, found, read and written.

local lfs = require "lfs"

local files = {}

--- The bytes of a file.
function files.read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

--- Writes a file with these bytes and this mode: octal digits, "600" when nil.
function files.write(path, text, mode)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(os.execute(("chmod %s '%s'"):format(mode or "600", path)))
end

--- The paths of the files below a folder, at any depth, whose names end in `ending` (".c"), sorted.
function files.below(folder, ending)
  local paths = {}
  local function walk(path)
    for name in lfs.dir(path) do
      local inner = path .. "/" .. name
      if name:sub(1, 1) ~= "." and lfs.attributes(inner, "mode") == "directory" then walk(inner)
      elseif name:sub(-#ending) == ending then paths[#paths + 1] = inner end
    end
  end
  walk(folder)
  table.sort(paths)
  return paths
end

return files
