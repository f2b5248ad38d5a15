-- rockspec-check.lua: the rockspec's file lists and the tree agree. `--write` brings the lists up to date.
-- Run from the project's root.
local ROCKSPEC = "rockspec/koine-scm-1.rockspec"

-- The paths that find prints for these arguments, sorted.
local function files(where)
  local list = {}
  local pipe = assert(io.popen("find " .. where))
  for name in pipe:lines() do list[#list + 1] = name end
  pipe:close()
  table.sort(list)
  return list
end

local function module_name(file)
  return (file:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", "."))
end

local expected, names = {}, {}
for _, file in ipairs(files "lua/koine -name '*.lua'") do
  local name = module_name(file)
  expected[name], names[#names + 1] = file, name
end
table.sort(names)
local sources = files "src/core src/binding -name '*.c'"

-- The rockspec's text with both lists as the tree has them.
local function updated(text)
  local c, lua = {}, {}
  for i, file in ipairs(sources) do c[i] = ("        %q,\n"):format(file) end
  for i, name in ipairs(names) do lua[i] = ("    [%q] = %q,\n"):format(name, expected[name]) end
  text = text:gsub("(\n      sources = {\n).-(      },\n    },\n).-(  },\n}\n)$", function(before, between, after)
    return before .. table.concat(c) .. between .. table.concat(lua) .. after
  end)
  return text
end

if arg[1] == "--write" then
  local file = assert(io.open(ROCKSPEC))
  local text = updated(file:read "a")
  file:close()
  file = assert(io.open(ROCKSPEC, "w"))
  assert(file:write(text))
  assert(file:close())
end

local spec = {}
assert(loadfile(ROCKSPEC, "t", spec))()
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
if #problems > 0 then
  print "lua5.4 tools/rockspec-check.lua --write brings the rockspec up to date"
  os.exit(false)
end
print "rockspec: agrees with the tree"
