-- A served agent against @agentclientprotocol/sdk, the protocol's own client: it asks every method, and every message
-- of the agent fits the protocol's JSON schema, in random runs too. KOINE_SEED and KOINE_CASES set seed and number.

local core = require "koine.core"
local folder = require "spec.support.folder"
local koine = require "koine"
local node = require "spec.interop.support.node"

local LUA = os.getenv "KOINE_LUA" or "lua5.4"
local RUNS = tonumber(os.getenv "KOINE_CASES") or 60

local SERVE = { executor = "client", modes = { { id = "ask", name = "Ask" }, { id = "go", name = "Go" } },
  options = { { id = "model", name = "Model", category = "model", value = "a", choices = { { value = "a", name = "A" },
    { value = "b", name = "B" } } }, { id = "web", name = "Web", value = false } } }

local CALLS = {
  { "look", { what = "a.txt" } }, { "look", { what = 3 } }, { "fails", {} }, { "nobody", {} }, { "picture", {} },
  { "pay", {} }, { "shout", {} }, { "bash", { command = "make\ntest" } }, { "bash", {} },
  { "write_file", { path = "w.txt", content = "one\ntwo\n" } }, { "read_file", { path = "w.txt", offset = 1 } },
  { "edit_file", { path = "w.txt", old_str = "two", new_str = "2" } }, { "read_file", { path = "none" } },
  { "text_editor", { command = "view", path = "w.txt" } }, { "grep", { pattern = "x" } }, { "list_dir", {} },
  { "write_file", { path = "../out", content = "x" } },
}

local STOPS = { "end_turn", "max_tokens", "stop_sequence" }

-- A random step of a playbook.
local function step()
  local kind = math.random(10)
  if kind <= 5 then
    local calls = {}
    for i = 1, math.random(3) do
      local call = CALLS[math.random(#CALLS)]
      calls[i] = { id = "c" .. i, name = call[1], arguments = call[2] }
    end
    return { type = "tool_calls", tool_calls = calls, thinking = math.random(2) == 1 and "Hm." or nil,
      content = math.random(2) == 1 and "I look." or nil }
  elseif kind == 6 then
    return { type = "error", error = { status = 529, type = "overloaded_error", message = "too busy" } }
  elseif kind == 7 then
    return { type = "answer", content = core.array { { type = "refusal", text = "No." } }, stop_reason = "refusal" }
  end
  return { type = "answer", content = "Text é 😀 of some length.", chunk = math.random(9),
    stop_reason = STOPS[math.random(#STOPS)], usage = { input_tokens = math.random(100), output_tokens = 5 } }
end

describe("@agentclientprotocol/sdk", function()
  local dir

  before_each(function() dir = folder.new() end)
  after_each(function() folder.remove(dir) end)

  it("asks every method, and every message fits the schema", function()
    local seed = tonumber(os.getenv "KOINE_SEED") or os.time()
    print("acp_serve: seed " .. seed)
    math.randomseed(seed)
    local steps = {}
    for i = 1, RUNS * 8 do
      steps[i] = step()
      steps[i].step = i
    end
    local begin = { { step = 1, type = "message", thinking = "Hm.", content = "Hello." } }
    assert(koine.files.write(dir .. "/config", core.encode { login = true, by_session = true,
      store = dir .. "/store", serve = SERVE,
      tools = { "look", "fails", "picture", "pay", "shout" }, steps = { begin, steps } }))
    local done = node.run("acp_client.mjs", "acp", { argv = { LUA, "spec/lua/protocol/acp/serve/agent_program.lua",
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
