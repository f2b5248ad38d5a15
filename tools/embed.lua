-- embed.lua FILE…: writes the Lua modules in these files (lua/koine/NAME.lua) to standard output as the C table that
-- src/embed/modules.h declares. The same files give the same bytes.

local function module_name(file)
  return (file:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", "."))
end

-- The bytes of a text as C numbers, 20 a line.
local function numbers(text)
  local lines = {}
  for from = 1, #text, 20 do
    lines[#lines + 1] = table.concat({ text:byte(from, math.min(from + 19, #text)) }, ",")
  end
  return table.concat(lines, ",\n")
end

local entries = {}
print '/* Written by tools/embed.lua. */\n#include "modules.h"\n'
for i, file in ipairs(arg) do
  local f = assert(io.open(file, "rb"))
  local text = f:read "a"
  f:close()
  print(("static const unsigned char text_%d[] = {\n%s\n};"):format(i, numbers(text)))
  entries[i] = ('  { "%s", "@%s", text_%d, %d },'):format(module_name(file), file:gsub("^lua/", ""), i, #text)
end
print("\nconst struct koine_module koine_modules[] = {")
print(table.concat(entries, "\n"))
print "  { NULL, NULL, NULL, 0 }\n};"
