-- A served agent against @agentclientprotocol/sdk, the protocol's own client: it asks every method, and every message
-- of the agent fits the protocol's JSON schema, in random runs too. KOINE_SEED and KOINE_CASES set seed and number.

local core = require "koine.core"
local folder = require "spec.support.folder"
local koine = require "koine"
local node = require "spec.interop.support.node"
local random = require "spec.lua.protocol.acp.serve.random"

local LUA = os.getenv "KOINE_LUA" or "lua5.4"
local RUNS = tonumber(os.getenv "KOINE_CASES") or 60

describe("@agentclientprotocol/sdk", function()
  local dir

  before_each(function() dir = folder.new() end)
  after_each(function() folder.remove(dir) end)

  it("asks every method, and every message fits the schema", function()
    local seed = tonumber(os.getenv "KOINE_SEED") or os.time()
    print("acp_serve: seed " .. seed)
    math.randomseed(seed)
    local steps = random.steps(RUNS * 8)
    local begin = { { step = 1, type = "message", thinking = "Hm.", content = "Hello." } }
    assert(koine.files.write(dir .. "/config", core.encode { login = true, by_session = true,
      store = dir .. "/store", serve = random.SERVE,
      tools = random.TOOLS, steps = { begin, steps } }))
    local done = node.run("acp/client.mjs", "acp", { argv = { LUA, "spec/lua/protocol/acp/serve/agent_program.lua",
      "@" .. dir .. "/config" }, dir = dir, cwd = ".", runs = RUNS, seed = seed & 0x7FFFFFFF })
    local failed = {}
    for _, check in ipairs(done.checks) do
      if check[2] ~= true then failed[#failed + 1] = check[1] .. ": " .. core.encode(check[3]) end
    end
    assert.same({}, failed)
    assert.same(core.array {}, done.problems)
    for _, kind in ipairs { "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update",
      "usage_update", "session_info_update", "user_message_chunk", "config_option_update" } do
      assert.is_true((done.kinds[kind] or 0) > 0, kind)
    end
    print(("acp_serve: %d messages judged"):format(done.messages))
  end)
end)
