--- Runs the public JSON Schema Test Suite: lua5.4 tools/json-schema-suite.lua FOLDER, its `tests`. Prints for every
-- keyword how many values are judged as the suite says, in drafts 6 and 7. Fails where a value is taken that does not
-- fit, unless schema.unjudged reports the keyword, and where one is refused that fits, unless it is of EXCEPTIONS.

local core = require "koine.core"
local schema = require "koine.data.schema"

-- Where Koine follows draft 2020-12: keywords beside $ref count. And an empty table of Lua is an array, too.
local EXCEPTIONS = { ["ref overrides any sibling keywords: ref valid, maxItems ignored"] = true,
  ["array type matches arrays: an object is not an array"] = true }

local function files(folder)
  local list = {}
  for path in assert(io.popen(("ls %s/*.json"):format(folder))):lines() do list[#list + 1] = path end
  return list
end

local function read(path)
  local file <close> = assert(io.open(path))
  return assert(core.decode(file:read "a"))
end

-- How Koine judges: true, false, or nil where it reports a keyword or refuses the schema.
local function judged(given, value)
  local ok, fits = pcall(schema.validate, given, value)
  if not ok then return nil end
  if fits and type(given) == "table" and schema.unjudged(given)[1] then return nil end
  return fits == true
end

local function count(path, problems)
  local right, reported, all = 0, 0, 0
  for _, group in ipairs(read(path)) do
    for _, test in ipairs(group.tests) do
      local got = judged(group.schema, test.data)
      all = all + 1
      if got == test.valid then
        right = right + 1
      elseif got == nil then
        reported = reported + 1
      elseif not EXCEPTIONS[group.description .. ": " .. test.description] then
        problems[#problems + 1] = ("%s: %s: %s: taken for %s"):format(path:match "draft%d/.*", group.description,
          test.description, got and "valid" or "invalid")
      end
    end
  end
  return right, reported, all
end

local problems, folder = {}, arg[1]
print(("%-32s %12s %12s"):format("keyword", "draft 6", "draft 7"))
local sums = { draft6 = { 0, 0, 0 }, draft7 = { 0, 0, 0 } }

local function cell(draft, name)
  local path = ("%s/%s/%s.json"):format(folder, draft, name)
  local there = io.open(path)
  if not there then return "" end
  there:close()
  local right, reported, all = count(path, problems)
  local sum = sums[draft]
  sum[1], sum[2], sum[3] = sum[1] + right, sum[2] + reported, sum[3] + all
  return ("%d/%d%s"):format(right, all, reported > 0 and " (" .. reported .. ")" or "")
end

for _, path in ipairs(files(folder .. "/draft7")) do
  local name = path:match "([^/]+)%.json$"
  print(("%-32s %12s %12s"):format(name, cell("draft6", name), cell("draft7", name)))
end
for draft, sum in pairs(sums) do
  assert(sum[3] > 0, draft .. ": no tests in " .. folder)
end
print(("%-32s %12s %12s"):format("all", ("%d/%d"):format(sums.draft6[1], sums.draft6[3]),
  ("%d/%d"):format(sums.draft7[1], sums.draft7[3])))
print "In brackets: not judged, and reported by koine.schema.unjudged."
for _, problem in ipairs(problems) do print(problem) end
if problems[1] then os.exit(false) end
