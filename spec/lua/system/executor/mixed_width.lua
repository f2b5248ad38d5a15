--- True in a program of 32 bits on a kernel of 64: it cannot take its environment out of /proc (docs/security.md).
return function()
  if string.packsize "T" ~= 4 then return false end
  local symbols <close> = io.open "/proc/kallsyms"
  local address = symbols and (symbols:read() or ""):match "^%x*" or ""
  return #address == 16
end
