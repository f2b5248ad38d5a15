-- Conversations in which some answers have a shape: each way of asking for it, before and after each other one, with
-- and without tools, on every wire. The server finds nothing wrong with any request, and every value arrives.

local core = require "koine.core"
local kit = require("spec.lua.call.output.kit").new()
local koine = require "koine"

local MODES = { "native", "tool", "prompt", "object" }
local ADD = { name = "add", description = "d", parameters = { type = "object", required = { "a" },
  properties = { a = { type = "integer" } } } }
local CALL = { content = { { type = "tool_use", id = "call_12345", name = "add", arguments = { a = 1 } } } }

-- By wire: constructor, options, what stands behind the server's address.
local WIRES = {
  chat = { "openai", { model = "gpt-5", api = "chat" }, "/v1" },
  responses = { "openai", { model = "gpt-5", api = "responses" }, "/v1" },
  messages = { "anthropic", { model = "claude-sonnet-4-5" }, "" },
  gemini = { "gemini", { model = "gemini-3-flash-preview" }, "/v1beta" },
  older_gemini = { "gemini", { model = "gemini-2.5-flash" }, "/v1beta" },
  converse = { "bedrock", { model = "anthropic.claude-sonnet-4-6", region = "us-east-1" }, "" },
  ollama = { "ollama", { model = "m", key = false }, "" },
  llamacpp = { "llamacpp", { model = "m", key = false }, "/v1" },
  mistral = { "mistral", { model = "mistral-large-latest" }, "/v1" },
  deepseek = { "deepseek", { model = "deepseek-chat" }, "" },
}

describe("a conversation with shapes", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  local function adapter(wire)
    local name, options, path = table.unpack(WIRES[wire])
    local given = { key = "test-key-1", base_url = kit.server.url .. path, retry = false }
    for option, value in pairs(options) do given[option] = value or nil end
    if options.key == false then given.key = nil end
    return koine[name](given)
  end

  local function output(mode)
    return { schema = mode ~= "object" and kit.PERSON or nil, name = "person", mode = mode }
  end

  -- The answer that holds a text in a way.
  local function answer(mode, text)
    if mode ~= "tool" then return { content = text } end
    return { content = { { type = "tool_use", name = "person", arguments = core.decode(text) } } }
  end

  -- One turn: the Response to the history with the user's content at its end, and the history with the answer.
  local function turn(one, history, content, answers, opts)
    kit.server:script(answers)
    history[#history + 1] = { role = "user", content = content }
    local response = assert(one:chat(history, opts))
    history[#history + 1] = response:message()
    return response
  end

  local function has_ada(response, name)
    assert.is_nil(response.output_error, name .. ": " .. tostring((response.output_error or {}).message))
    assert.are.same({ name = "Ada", age = 36 }, response.output, name)
  end

  local function converse(wire, before, after, tools)
    local one <close> = adapter(wire)
    local history, name = {}, ("%s, %s, %s%s"):format(wire, before, after, tools and ", tools" or "")
    has_ada(turn(one, history, "Who?", { answer(before, kit.ADA) }, { output = output(before) }), name)
    assert.are.equal("Hello.", turn(one, history, "Say hello.", { { content = "Hello." } }, { tools = tools }):text())
    local question = "And now?"
    if tools then
      local r = turn(one, history, "Add.", { CALL }, { tools = tools, output = output(after) })
      assert.are.equal(1, #r.tool_calls, name)
      assert.is_nil(r.output_error, name)
      question = { { type = "tool_result", tool_use_id = r.tool_calls[1].id, content = "2" } }
    end
    local wanted = output(after)
    wanted.repair = 1
    local wrong = after == "object" and "[]" or '{"name":"x","age":"y"}'
    has_ada(turn(one, history, question, { answer(after, wrong), answer(after, kit.ADA) }, { tools = tools,
      output = wanted }), name)
    for _, request in ipairs(kit.requests()) do assert.are.same({}, request.problems, name) end
  end

  for wire in pairs(WIRES) do
    it("is taken, and its values arrive: " .. wire, function()
      for _, before in ipairs(MODES) do
        for _, after in ipairs(MODES) do
          for _, tools in ipairs { false, true } do
            assert(kit.server:reset())
            converse(wire, before, after, tools and { ADD } or nil)
          end
        end
      end
    end)
  end
end)
