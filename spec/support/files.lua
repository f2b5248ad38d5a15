-- Whole files, read and written.

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

return files
