-- The interpreters that Koine runs on, and the one sentence that the others get.

local unfit = require "koine.data.host.interpreter"

local function output_of(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read "a"
  pipe:close()
  return text
end

describe("an interpreter", function()
  it("from Lua 5.4 on is fit", function()
    for _, version in ipairs { "Lua 5.4", "Lua 5.5", "Lua 5.10", "Lua 6.0", _VERSION } do
      assert.is_nil(unfit(version))
    end
  end)

  it("before that, and LuaJIT, is named in one sentence", function()
    for _, version in ipairs { "Lua 5.1", "Lua 5.2", "Lua 5.3", "Lua 4.0", "Luau" } do
      assert.are.equal("Koine needs Lua 5.4 or later, this is " .. version .. ".", unfit(version))
    end
    assert.are.equal("Koine needs Lua 5.4 or later, this is LuaJIT 2.1.", unfit("Lua 5.1", { version = "LuaJIT 2.1" }))
    assert.are.equal("Koine needs Lua 5.4 or later, this is LuaJIT 3.", unfit("Lua 5.4", { version = "LuaJIT 3" }))
  end)

  -- Only what is installed can be tried; the function above is tested everywhere.
  for _, name in ipairs { "lua5.1", "lua5.2", "lua5.3", "luajit" } do
    if os.execute(("command -v %s >/dev/null 2>&1"):format(name)) then
      it(name .. " says so before the C module is loaded", function()
        local text = output_of(("LUA_PATH='%s' LUA_CPATH=/nowhere/?.so %s -e 'require \"koine\"'"):format(package.path,
          name))
        assert.is_truthy(text:find("Koine needs Lua 5.4 or later, this is Lua", 1, true), text)
        assert.is_nil(text:find("koine.core", 1, true), text)
        text = output_of(("LUA_PATH='%s' LUA_CPATH=/nowhere/?.so %s bin/koine --version"):format(package.path, name))
        assert.is_truthy(text:find("^koine: Koine needs Lua 5.4 or later, this is Lua[^\n]*\n$"), text)
      end)
    end
  end
end)
