-- Models that think and give an answer with a shape, in each way of asking: thinking stays, and goes back in a repair.

local core = require "koine.core"
local kit = require("spec.lua.call.output.kit").new()
local koine = require "koine"

local ADA, WRONG = kit.ADA, '{"name":"Ada"}'
local THOUGHT = { type = "thinking", thinking = "Ada, of course: {\"name\":1}", signature = "c2lnbmF0dXJl" }

local function call(text) return { type = "tool_use", name = "person", arguments = core.decode(text) } end

describe("an answer with a shape of a model that thinks", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  -- What the model answers in a mode: the thought, then the text as such or as a call.
  local function answer(mode, text)
    return { content = { THOUGHT, mode == "tool" and call(text) or { type = "text", text = text } } }
  end

  local function gemini(options)
    options.model, options.base_url, options.key = "gemini-3-flash-preview", kit.server.url .. "/v1beta", "test-key-1"
    return koine.gemini(options)
  end

  local function ollama(options)
    options.model, options.base_url = "qwen3:4b", kit.server.url
    return koine.ollama(options)
  end

  -- Each: an adapter that thinks, and how a request of it says so.
  local WIRES = {
    ["budget of Claude"] = { function()
      return kit.claude { thinking = { budget_tokens = 2048 }, max_tokens = 8000 }
    end, function(body) return body.thinking.type == "enabled" end },
    ["effort of Claude"] = { function() return kit.claude { model = "claude-sonnet-4-6", thinking = "low" } end,
      function(body) return body.thinking.type == "adaptive" and body.output_config.effort == "low" end },
    chat = { function() return kit.gpt { model = "gpt-5.1", thinking = "low" } end,
      function(body) return body.reasoning_effort == "low" end },
    responses = { function() return kit.gpt { model = "gpt-5.1", api = "responses", thinking = "low" } end,
      function(body) return body.reasoning.effort == "low" end },
    gemini = { function() return gemini { thinking = "low" } end,
      function(body) return body.generationConfig.thinkingConfig ~= nil end },
    ollama = { function() return ollama { thinking = "low" } end, function(body) return body.think ~= nil end },
  }

  for name, wire in pairs(WIRES) do
    for _, mode in ipairs { "native", "tool", "prompt" } do
      for _, streamed in ipairs { false, true } do
        it(("%s, %s, %s"):format(name, mode, streamed and "streamed" or "plain"), function()
          local new, thinks = table.unpack(wire)
          local r = kit.ask(new(), { answer(mode, WRONG), answer(mode, ADA) }, { mode = mode, repair = 1 },
            { stream = streamed })
          assert.are.same({ name = "Ada", age = 36 }, r.output)
          assert.are.same({}, kit.codes(r))
          assert.are.equal(2, #kit.requests())
          for i = 1, 2 do assert.is_true(thinks(kit.body(i)), ("request %d"):format(i)) end
          assert.are.equal(THOUGHT.thinking, r:thinking())
          if name:find "Claude" then
            local messages = kit.body(2).messages
            assert.are.equal(THOUGHT.signature, messages[2].content[1].signature)
            assert.is_nil((kit.body(1).tool_choice or { type = "auto" }).name)
          end
        end)
      end
    end
  end

  it("does not grow with what it thinks", function()
    kit.server:script { { content = answer("native", ADA).content, chunk = 3 } }
    local adapter = kit.claude { thinking = { budget_tokens = 2048 }, max_tokens = 8000 }
    for delta in adapter:stream("Who?", { output = { schema = kit.PERSON, mode = "prompt" } }) do
      if delta.type == "output_delta" then assert.is_truthy(("Ada"):find(delta.value.name or "", 1, true)) end
    end
  end)

  it("is asked for in words where a choice that the model may not be given is the only other way", function()
    local adapter = kit.claude { model = "claude-sonnet-4-0", thinking = { budget_tokens = 2048 }, max_tokens = 8000 }
    assert.are.equal("prompt", kit.ask(adapter, { answer("prompt", ADA) }).output_mode)
    adapter = kit.claude { model = "claude-sonnet-4-0" }
    assert.are.equal("tool", kit.ask(adapter, { { content = { call(ADA) } } }).output_mode)
  end)
end)
