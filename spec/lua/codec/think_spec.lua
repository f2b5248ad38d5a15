-- Reasoning and tool calls that a model wrote into its text, through the whole stack: the quirks inline_think and
-- leaked_calls against the loopback provider. A streamed and a plain answer give the same, whatever the cuts.

local koine = require "koine"

local TOOLS = {
  { name = "read_file", description = "Reads a file.", parameters = { type = "object", properties = {} } },
  { name = "list", description = "Lists files.", parameters = { type = "object", properties = {} } },
}

describe("text that holds more than text", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function adapter(quirks)
    return koine.compatible { base_url = server.url, model = "m", key = "test-key", quirks = quirks }
  end

  -- Follows the grammar of deltas: returns the blocks they tell, as {type, text | name, json}.
  local function blocks_of(stream)
    local blocks, open = {}, {}
    for delta in stream:deltas() do
      local kind, what = delta.type:match "^(.*)_(%a+)$"
      local id = delta.tool_call_id or "text"
      if what == "start" then
        assert.is_nil(open.text, delta.type)
        assert.is_nil(open[id], delta.type)
        open[id] = { type = kind, name = delta.tool_name, text = "" }
        blocks[#blocks + 1] = open[id]
      else
        assert.are.equal(kind, open[id] and open[id].type, delta.type)
        if what == "end" then
          open[id] = nil
        else
          local piece = delta.text or delta.argument_delta
          assert.is_true(#piece > 0)
          open[id].text = open[id].text .. piece
        end
      end
    end
    assert.is_nil(next(open))
    return blocks
  end

  local FIELD = { text = "text", thinking = "thinking", tool_use = "arguments_json" }

  -- Plays the answer plainly and streamed in pieces of several sizes; all agree with each other and with their deltas.
  -- Returns the plain Response.
  local function both(quirks, answer, opts)
    local client = adapter(quirks)
    assert(server:script { answer })
    local plain = assert(client:chat("Hi", opts))
    for _, chunk in ipairs { 1, 2, 3, 5, 8, 13, 1000 } do
      local cut = { chunk = chunk }
      for field, value in pairs(answer) do cut[field] = value end
      assert(server:script { cut })
      local stream <close> = assert(client:open("Hi", opts))
      local blocks = blocks_of(stream)
      local streamed = assert(stream:response())
      assert.are.same(plain.content, streamed.content)
      assert.are.equal(plain.stop_reason, streamed.stop_reason)
      assert.are.same(plain.warnings, streamed.warnings)
      assert.are.equal(plain.degenerate, streamed.degenerate)
      assert.are.equal(#streamed.content, #blocks)
      for i, block in ipairs(streamed.content) do
        assert.are.equal(block.type, blocks[i].type)
        assert.are.equal(block.name, blocks[i].name)
        assert.are.equal(block[FIELD[block.type]], blocks[i].text)
      end
    end
    return plain
  end

  describe("reasoning in <think>", function()
    local ON = { inline_think = true }

    it("is text unless the quirk says otherwise", function()
      local response = both(nil, { content = "<think>why</think>because" })
      assert.are.equal("<think>why</think>because", response:text())
      assert.are.equal(1, #response.content)
    end)

    it("becomes a thinking block before the text", function()
      local response = both(ON, { content = "<think>why</think>\n\nbecause" })
      assert.are.equal("why", response:thinking())
      assert.are.equal("\n\nbecause", response:text())
      assert.are.equal("thinking", response.content[1].type)
      assert.are.equal("compatible", response.content[1].provider_data.provider)
    end)

    it("is one block each", function()
      local response = both(ON, { content = "\n<THINK>a</think>\n<think>b</Think>c" })
      assert.are.same({ "thinking", "thinking", "text" },
        { response.content[1].type, response.content[2].type, response.content[3].type })
      assert.are.equal("\n\nc", response:text())
    end)

    it("is only what leads", function()
      for _, text in ipairs { "so <think>why</think>", "```\n<think>why</think>\n```", "</think>why", "<thinker>" } do
        assert.are.equal(text, both(ON, { content = text }):text())
      end
    end)

    it("is degenerate alone", function()
      local response = both(ON, { content = "<think>why", stop_reason = "max_tokens" })
      assert.are.equal("why", response:thinking())
      assert.are.equal("", response:text())
      assert.is_true(response.degenerate)
      assert.are.equal("max_tokens", response.stop_reason)
    end)

    it("goes before a call", function()
      local response = both(ON, { content = { { type = "text", text = "<think>why</think>\n" },
        { type = "tool_use", id = "c1", name = "list", arguments = {} } } }, { tools = TOOLS })
      assert.are.equal(2, #response.content)
      assert.are.equal("why", response.content[1].thinking)
      assert.are.equal("c1", response.content[2].id)
    end)

    it("does not go back as text", function()
      local client = adapter(ON)
      assert(server:script { { content = "<think>why</think>because" }, { content = "ok" } })
      local response = assert(client:chat "Hi")
      assert(client:chat { { role = "user", content = "Hi" }, response:message(), { role = "user", content = "And?" } })
      local requests = assert(server:requests())
      assert.are.same({}, requests[2].problems)
      assert.is_truthy(requests[2].body:find('"because"', 1, true))
      assert.is_nil(requests[2].body:find("why", 1, true))
    end)

    it("may be what is there when the answer breaks off", function()
      local client = adapter(ON)
      assert(server:script { { content = "<think>" .. ("why "):rep(100), chunk = 7,
        fault = { truncate_after = 4000 } } })
      local stream <close> = assert(client:open("Hi", { retry = false }))
      local delta, err
      repeat delta, err = stream:next() until not delta
      assert.are.equal("stream_truncated", err.kind)
      assert.is_truthy(err.partial:thinking():find "^why why")
      assert.are.equal("", err.partial:text())
    end)
  end)

  describe("calls in markup", function()
    local ON = { leaked_calls = true }
    local OPTS = { tools = TOOLS }
    local INVOKE = '<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">a.lua</parameter>\n' ..
      "</invoke>\n</minimax:tool_call>"

    it("are text unless the quirk says otherwise", function()
      local response = both(nil, { content = INVOKE }, OPTS)
      assert.are.equal(INVOKE, response:text())
      assert.are.equal(0, #response.tool_calls)
    end)

    it("become calls", function()
      local response = both(ON, { content = "Let me look.\n\n" .. INVOKE .. "\n" }, OPTS)
      assert.are.equal("Let me look.", response:text())
      assert.are.equal("tool_use", response.stop_reason)
      assert.are.equal("stop", response.raw_stop_reason)
      local call = response.tool_calls[1]
      assert.are.equal("read_file", call.name)
      assert.are.same({ path = "a.lua" }, call.arguments)
      assert.is_truthy(call.id:find "^call_%x+$")
      assert.are.equal("recovered_tool_calls", response.warnings[1].code)
    end)

    it("are read in every family", function()
      for _, text in ipairs {
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.lua"}}\n</tool_call>',
        '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a.lua"}}]',
        ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="read_file">]<]minimax[>[<path>a.lua]<]minimax[>[</path>' ..
          "]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
      } do
        local response = both(ON, { content = text }, OPTS)
        assert.are.equal(1, #response.content)
        assert.are.equal("read_file", response.tool_calls[1].name)
        assert.are.same({ path = "a.lua" }, response.tool_calls[1].arguments)
      end
    end)

    it("have ids of their own, the same for the same request", function()
      local two = INVOKE .. '<invoke name="list"></invoke>'
      local first, second = both(ON, { content = two }, OPTS), both(ON, { content = two }, OPTS)
      assert.are_not.equal(first.tool_calls[1].id, first.tool_calls[2].id)
      assert.are.same(first.content, second.content)
      assert(server:script { { content = two } })
      local history = { { role = "user", content = "Hi" }, first:message(), { role = "user", content = {
        { type = "tool_result", tool_use_id = first.tool_calls[1].id, content = "x" },
        { type = "tool_result", tool_use_id = first.tool_calls[2].id, content = "y" } } } }
      local later = assert(adapter(ON):chat(history, OPTS))
      assert.are_not.equal(first.tool_calls[1].id, later.tool_calls[1].id)
      local requests = assert(server:requests())
      assert.are.same({}, requests[#requests].problems)
    end)

    it("are those of tools that were offered, and that may be called", function()
      local other = '<invoke name="rm"><path>/</path></invoke>'
      assert.are.equal(other, both(ON, { content = other }, OPTS):text())
      assert.are.equal(INVOKE, both(ON, { content = INVOKE }):text())
      assert.are.equal(INVOKE, both(ON, { content = INVOKE }, { tools = TOOLS, tool_choice = "none" }):text())
    end)

    it("give way to real ones", function()
      local response = both(ON, { content = { { type = "text", text = INVOKE },
        { type = "tool_use", id = "c1", name = "list", arguments = {} } } }, OPTS)
      assert.are.equal(INVOKE, response:text())
      assert.are.equal(1, #response.tool_calls)
      assert.are.equal("c1", response.tool_calls[1].id)
    end)

    it("are not made where the answer was cut off in them", function()
      local response = both(ON, { content = '<invoke name="read_file"><path>a.l', stop_reason = "max_tokens" }, OPTS)
      assert.are.equal("max_tokens", response.stop_reason)
      assert.is_string(response.tool_calls[1].arguments_error)
    end)

    it("are not what prose speaks of", function()
      local prose = "To invoke it, write <invoke>, [TOOL] or a <tool> tag. "
      local response = both(ON, { content = prose }, OPTS)
      assert.are.equal(prose, response:text())
      assert.are.same({}, response.warnings)
    end)

    it("stand behind reasoning that is taken apart too", function()
      local response = both({ leaked_calls = true, inline_think = true },
        { content = "<think>I could <invoke name=\"list\"></invoke></think>" .. INVOKE }, OPTS)
      assert.are.equal(2, #response.content)
      assert.are.equal('I could <invoke name="list"></invoke>', response:thinking())
      assert.are.equal("read_file", response.tool_calls[1].name)
    end)
  end)

  it("is on for the models whose servers document it", function()
    local function inline(constructor, model)
      return koine[constructor] { model = model, key = "k" }
    end
    local state = require("koine.core").state
    assert.is_true(state(inline("perplexity", "sonar-reasoning-pro")).quirks.inline_think)
    assert.is_true(state(inline("groq", "qwen/qwen3-32b")).quirks.inline_think)
    assert.is_nil(state(inline("perplexity", "sonar")).quirks.inline_think)
    assert.is_nil(state(inline("vllm", "any")).quirks.inline_think)
  end)
end)
