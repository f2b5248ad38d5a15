-- A program that prints which options and fields the checkers of Koine's modules know: a line for each,
-- "FILE N NAME required", "FILE N NAME optional" or "FILE N NAME default VALUE". N counts the tables of options and
-- records in the file (below lua/koine) in the order in which it makes them. VALUE is "-" where it is made each time.
-- It loads every module but programs, so it runs in a process of its own.

local check = require "koine.data.check"
local find = dofile("tools/source.lua").find

local marks = setmetatable({}, { __mode = "k" }) -- checker → "required", or "default VALUE"
local required, default = check.required, check.default

function check.required(c)
  local made = required(c)
  marks[made] = "required"
  return made
end

function check.default(c, value)
  local made, kind = default(c, value), type(value)
  marks[made] = "default " .. ((kind == "function" or kind == "table" or kind == "nil") and "-" or tostring(value))
  return made
end

local counts = {}

-- The checker with this name in `check` prints the members that it is given.
local function tell(name)
  local make = check[name]
  check[name] = function(members, ...)
    local file = debug.getinfo(2, "S").source:match "lua/koine/(.*)$"
    counts[file] = (counts[file] or 0) + 1
    for member, c in pairs(members) do
      print(file, counts[file], member, marks[c] or "optional")
    end
    return make(members, ...)
  end
end
tell "options"
tell "record"

for _, path in ipairs(find "lua/koine -name '*.lua'") do
  local module = path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
  if not module:find "^koine%.cli" and module ~= "koine.testing.loopback.main" then require(module) end
end
