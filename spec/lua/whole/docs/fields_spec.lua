-- A module's field that another module reads is there: of a name that does not exist, Lua says nothing.

local source = dofile "tools/source.lua"

-- The fields of the module `read` that code (a text without comments) reads by the name that it has there.
local function fields_of(code, name)
  local found = {}
  for field in code:gmatch("%f[%w_.\"']" .. name .. "%.([%a_][%w_]*)") do found[field] = true end
  return found
end

describe("the modules of Koine", function()
  it("have the fields that others read", function()
    local missing, count = {}, 0
    for _, path in ipairs(source.find "lua/koine bin -type f") do
      local code = source.read(path)
      for name, module in code:gmatch "%f[%w_]local ([%w_]+) = require *%(?\"(koine[%w_.]*)\"%)?\n" do
        local value = require(module)
        for field in pairs(type(value) == "table" and fields_of(code, name) or {}) do
          count = count + 1
          if value[field] == nil then missing[#missing + 1] = ("%s: %s.%s"):format(path, name, field) end
        end
      end
    end
    table.sort(missing)
    assert.same({}, missing)
    assert.is_true(count > 1000, count)
  end)
end)
