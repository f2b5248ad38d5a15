-- rockspec-check.lua: the rockspec's file lists and the tree agree. `--write` prints the lists as the rockspec wants
-- them. Run from the project's root.
local function files(pattern)
  local list = {}
  local pipe = assert(io.popen("ls " .. pattern .. " 2>/dev/null"))
  for name in pipe:lines() do list[#list + 1] = name end
  pipe:close()
  table.sort(list)
  return list
end

local function module_name(file)
  return (file:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", "."))
end

local expected = {}
for _, file in ipairs(files "lua/koine/*.lua lua/koine/*/*.lua") do expected[module_name(file)] = file end
local sources = files "src/core/*.c src/lua/*.c"

if arg[1] == "--write" then
  local names = {}
  for name in pairs(expected) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do print(("    [%q] = %q,"):format(name, expected[name])) end
  for _, file in ipairs(sources) do print(("        %q,"):format(file)) end
  return
end

local spec = {}
assert(loadfile("rockspec/koine-scm-1.rockspec", "t", spec))()
local modules, problems = spec.build.modules, {}
for name, file in pairs(expected) do
  if modules[name] ~= file then problems[#problems + 1] = "the rockspec lacks " .. name .. " = " .. file end
end
for name, file in pairs(modules) do
  if type(file) == "string" and expected[name] ~= file then problems[#problems + 1] = "no such file: " .. file end
end
local listed = {}
for _, file in ipairs(modules["koine.core"].sources) do listed[file] = true end
for _, file in ipairs(sources) do
  if not listed[file] then problems[#problems + 1] = "the rockspec lacks the source " .. file end
  listed[file] = nil
end
for file in pairs(listed) do problems[#problems + 1] = "no such source: " .. file end
table.sort(problems)
for _, problem in ipairs(problems) do print(problem) end
if #problems > 0 then os.exit(false) end
print "rockspec: agrees with the tree"
