--- Helpers of the specs of MCP: clients of the fake server, and what it heard.

local core = require "koine.core"
local koine = require "koine"
local rpc_kit = require "spec.lua.protocol.rpc.kit"

local kit = {}

local LUA = arg and arg[-1] or "lua5.4"
local PASSED = { "LUA_PATH", "LUA_CPATH", "LD_PRELOAD", "ASAN_OPTIONS" } -- what an interpreter with Koine's core needs

--- Ways to run functions at once, by name; `all` has plain Lua too, where one function runs after the other.
kit.loops, kit.all = rpc_kit.loops, rpc_kit.all

--- The ArgumentError for that field that f raises; fails when it raises none.
kit.raises = rpc_kit.raises

--- Seconds that nothing here takes, whatever the machine.
kit.SAFETY = rpc_kit.SAFETY

--- Options of koine.mcp.connect for the fake server (see fake.lua) that runs the Lua text; `opts` (nil: none) goes over
-- them.
function kit.options(script, opts)
  local env = {}
  for _, name in ipairs(PASSED) do env[name] = os.getenv(name) end
  local options = { name = "fake", command = LUA, args = { "spec/lua/protocol/mcp/fake.lua", script }, env = env,
    grace = 0.1 }
  for name, value in pairs(opts or {}) do
    if name == "env" then
      for variable, set in pairs(value) do env[variable] = set end
    else
      options[name] = value
    end
  end
  return options
end

--- A client of the fake server, or nil, err.
function kit.connect(script, opts) return koine.mcp.connect(kit.options(script, opts)) end

--- The text of a call's first item.
function kit.text_of(result) return result.content[1].text end

--- All messages that the fake heard so far, an array.
function kit.heard(client) return core.decode(kit.text_of(assert(client:call "heard"))) end

--- Those of one method.
function kit.heard_of(client, method)
  local list = {}
  for _, message in ipairs(kit.heard(client)) do list[#list + 1] = message.method == method and message or nil end
  return list
end

return kit
