-- The content of an answer goes back with the next request as it came: the bytes that left this side are compared with
-- the bytes that the provider had sent. Changes by the caller go out.

local core = require "koine.core"
local koine = require "koine"

local null = core.null

-- Arguments as a model may well write them: odd white space, escapes that are not needed, numbers of every kind.
local ARGUMENTS = [[{ "city" :"K\u00f6ln \/ \ud83d\ude00","n":[ ],"o":{ },"z":null, "one":1.0,"e":1E2,]]
  .. [["big":9007199254740993,"max":9223372036854775807,"min":-9223372036854775808,]]
  .. [["small":0.30000000000000004,"nested":[{"a":[]},{"b":{}},null]}]]

local TOOL = { name = "look", description = "Looks.", parameters = { type = "object", properties = {} } }

local function quoted(text) return core.encode(text) end

-- The wires --------------------------------------------------------------------------------------------------------

-- Cuts text in three, to arrive in as many events.
local function thirds(text)
  local n = #text // 3
  return { text:sub(1, n), text:sub(n + 1, 2 * n), text:sub(2 * n + 1) }
end

local anthropic = {}

-- blocks: array of {start = block's JSON as it begins, deltas = array of the delta's JSON, whole = block's JSON}.
function anthropic.plain(blocks)
  local list = {}
  for i, block in ipairs(blocks) do list[i] = block.whole end
  return '{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[' .. table.concat(list, " , ")
    .. '],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":6}}'
end

function anthropic.stream(blocks)
  local out = { 'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message",'
    .. '"role":"assistant","model":"m","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}' }
  local function event(name, json) out[#out + 1] = ("event: %s\ndata: %s"):format(name, json) end
  for i, block in ipairs(blocks) do
    event("content_block_start",
      ('{"type":"content_block_start","index":%d,"content_block":%s}'):format(i - 1, block.start))
    for _, delta in ipairs(block.deltas or {}) do
      event("content_block_delta", ('{"type":"content_block_delta","index":%d,"delta":%s}'):format(i - 1, delta))
    end
    event("content_block_stop", ('{"type":"content_block_stop","index":%d}'):format(i - 1))
  end
  event("message_delta", '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":6}}')
  event("message_stop", '{"type":"message_stop"}')
  return table.concat(out, "\n\n") .. "\n\n"
end

function anthropic.tool(id, arguments, extras)
  local head = ('{"type":"tool_use","id":%q,"name":"look","input":'):format(id)
  local deltas = {}
  for i, part in ipairs(thirds(arguments)) do
    deltas[i] = ('{"type":"input_json_delta","partial_json":%s}'):format(quoted(part))
  end
  return { start = head .. "{}" .. (extras or "") .. "}", deltas = deltas,
    whole = head .. arguments .. (extras or "") .. "}" }
end

local chat = {}

-- parts: array of a delta's members as JSON; `whole`: the message's members.
function chat.stream(parts)
  local out = {}
  for i, part in ipairs(parts) do
    out[i] = ('data: {"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{%s},'
      .. '"finish_reason":null}]}'):format(part)
  end
  out[#out + 1] = 'data: {"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},'
    .. '"finish_reason":"tool_calls"}]}'
  out[#out + 1] = "data: [DONE]"
  return table.concat(out, "\n\n") .. "\n\n"
end

function chat.plain(message)
  return '{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant",'
    .. message .. '},"finish_reason":"tool_calls"}]}'
end

-- The exchange ------------------------------------------------------------------------------------------------------

describe("the next request", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function adapter_of(name, options)
    local given = { model = "claude-sonnet-4-5", key = "test-key", base_url = server.url, retry = false }
    for option, value in pairs(options or {}) do given[option] = value end
    return koine[name](given)
  end

  -- Gets `body` as the answer, lets `change` have the Response's message, answers its calls and asks again: the body of
  -- the second request, as bytes and decoded; the Response.
  local function after(adapter, body, streaming, change)
    local kind = streaming and "text/event-stream" or "application/json"
    assert(server:script { { reply = { status = 200, headers = { ["content-type"] = kind }, body = body } },
      { content = "ok" } })
    local history = { { role = "user", content = "go" } }
    local response = assert(adapter:chat(history, { tools = { TOOL }, stream = streaming, max_tokens = 500 }))
    local message = response:message()
    if change then change(message) end
    history[2], history[3] = message, { role = "user", content = {} }
    for i, call in ipairs(response.tool_calls) do
      history[3].content[i] = { type = "tool_result", tool_use_id = call.id, content = "done" }
    end
    if #response.tool_calls == 0 then history[3].content = "go on" end
    assert.are.equal("ok", assert(adapter:chat(history, { tools = { TOOL }, max_tokens = 500 })):text())
    local list = assert(server:requests())
    local last = list[#list]
    assert.are.same({}, last.problems)
    return last.body, assert(core.decode(last.body)), response
  end

  local function has(bytes, part) assert(bytes:find(part, 1, true), part .. "\nexpected in\n" .. bytes) end
  local function lacks(bytes, part) assert(not bytes:find(part, 1, true), part .. "\nnot expected in\n" .. bytes) end

  for _, streaming in ipairs { false, true } do
    local how = streaming and " (streamed)" or " (plain)"
    local write = streaming and "stream" or "plain"

    describe("on the Messages wire" .. how, function()
      local function sent(blocks, change)
        return after(adapter_of "anthropic", anthropic[write](blocks), streaming, change)
      end

      it("has the arguments of every call as the model wrote them", function()
        local bytes, _, response = sent { anthropic.tool("toolu_1", ARGUMENTS), anthropic.tool("toolu_2", "{}"),
          anthropic.tool("toolu_3", '{"a": 1}') }
        has(bytes, '{"type":"tool_use","id":"toolu_1","name":"look","input":' .. ARGUMENTS .. "}")
        has(bytes, '{"type":"tool_use","id":"toolu_3","name":"look","input":{"a": 1}}')
        has(bytes, '{"type":"tool_use","id":"toolu_2","name":"look","input":{}}')
        assert.are.equal(ARGUMENTS, response.tool_calls[1].arguments_json)
        assert.are.equal("integer", math.type(response.tool_calls[1].arguments.big))
        assert.are.equal(9007199254740993, response.tool_calls[1].arguments.big)
        assert.are.equal(math.maxinteger, response.tool_calls[1].arguments.max)
        assert.are.equal(math.mininteger, response.tool_calls[1].arguments.min)
        assert.are.equal("float", math.type(response.tool_calls[1].arguments.one))
        assert.are.equal("Köln / 😀", response.tool_calls[1].arguments.city)
        assert.are.equal(null, response.tool_calls[1].arguments.nested[3])
        assert.is_nil(response.tool_calls[1].arguments.z) -- a null member is one that is absent
      end)

      it("has signed thinking and what is encrypted", function()
        local signature, data = ("Eq+/" .. ("aB3="):rep(100)), "Zm9v" .. ("Q+/"):rep(50)
        local thought = "I wonder: \"é\" \\ \n😀"
        local bytes = sent {
          { start = '{"type":"thinking","thinking":"","signature":""}',
            deltas = { '{"type":"thinking_delta","thinking":' .. quoted(thought) .. "}",
              '{"type":"signature_delta","signature":' .. quoted(signature) .. "}" },
            whole = ('{"type":"thinking","thinking":%s,"signature":%s}'):format(quoted(thought), quoted(signature)) },
          { start = '{"type":"redacted_thinking","data":' .. quoted(data) .. "}",
            whole = '{"type":"redacted_thinking","data":' .. quoted(data) .. "}" },
          anthropic.tool("toolu_1", "{}"),
        }
        has(bytes, '{"type":"thinking","thinking":' .. quoted(thought) .. ',"signature":' .. quoted(signature) .. "}")
        has(bytes, '{"type":"redacted_thinking","data":' .. quoted(data) .. "}")
      end)

      it("has thinking that was left out of the answer, with its signature", function()
        local bytes = sent {
          { start = '{"type":"thinking","thinking":"","signature":""}',
            deltas = { '{"type":"signature_delta","signature":"c2ln"}' },
            whole = '{"type":"thinking","thinking":"","signature":"c2ln"}' },
          anthropic.tool("toolu_1", "{}"),
        }
        has(bytes, '{"type":"thinking","thinking":"","signature":"c2ln"}')
      end)

      it("has the blocks that Koine has no name for, whole and in their places", function()
        local use = '{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search", "input":{"query" :"tides"},'
          .. '"x":1.0}'
        local result = '{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{'
          .. '"type":"web_search_result","encrypted_content":"RW5j\\/+==","n":[],"o":{},"z":null}]}'
        local bytes, body = sent {
          { start = use, whole = use }, { start = result, whole = result },
          { start = '{"type":"text","text":""}', deltas = { '{"type":"text_delta","text":"Twice a day."}' },
            whole = '{"type":"text","text":"Twice a day."}' },
          anthropic.tool("toolu_1", "{}"),
        }
        has(bytes, use)
        has(bytes, result)
        local types = {}
        for i, block in ipairs(body.messages[2].content) do types[i] = block.type end
        assert.are.same({ "server_tool_use", "web_search_tool_result", "text", "tool_use" }, types)
      end)

      it("has what a text or a call carries beside its own fields", function()
        local citation = '{"type":"char_location","cited_text":"twice","document_index":0,"start_char_index":1.0}'
        local extras = ',"caller":{"type":"direct", "n":[]}'
        local bytes, body, response = sent {
          { start = '{"type":"text","text":"","citations":[]}',
            deltas = { '{"type":"text_delta","text":"Twice a day."}',
              '{"type":"citations_delta","citation":' .. citation .. "}" },
            whole = '{"type":"text","text":"Twice a day.","citations":[' .. citation .. "]}" },
          anthropic.tool("toolu_1", "{}", extras),
        }
        has(bytes, '"citations":[' .. citation .. "]")
        has(bytes, '"caller":{"type":"direct", "n":[]}')
        assert.are.equal("Twice a day.", body.messages[2].content[1].text)
        assert.are.equal("Twice a day.", response:text())
      end)

      it("has the caller's words and arguments where they were changed", function()
        local bytes, body = sent({
          { start = '{"type":"text","text":"","citations":[]}',
            deltas = { '{"type":"text_delta","text":"Old words."}' },
            whole = '{"type":"text","text":"Old words."}' },
          anthropic.tool("toolu_1", ARGUMENTS), anthropic.tool("toolu_2", ARGUMENTS), anthropic.tool("toolu_3", "{}"),
        }, function(message)
          message.content[1].text = "New words."
          message.content[2].arguments.city = "Rome"
          message.content[3].arguments.nested[1].a[1] = false
          message.content[4].arguments = { a = core.array {}, o = {}, z = null }
        end)
        lacks(bytes, "Old words")
        local content = body.messages[2].content
        assert.are.equal("New words.", content[1].text)
        assert.are.equal("Rome", content[2].input.city)
        assert.are.same({ { a = { false } }, { b = {} }, null }, content[3].input.nested)
        has(bytes, '"input":{"a":[],"o":{},"z":null}}')
        for i = 2, 3 do -- all that was not touched
          assert.are.equal(9007199254740993, content[i].input.big)
          assert.are.equal(math.maxinteger, content[i].input.max)
          assert.are.equal(math.mininteger, content[i].input.min)
          assert.are.equal("float", math.type(content[i].input.one))
        end
        has(bytes, '"n":[]')
        has(bytes, '"o":{}')
      end)

      it("has the model's bytes again when a change is taken back, and sorted keys without them", function()
        local odd = '{ "b":1,"a":[ ] }'
        local bytes = sent({ anthropic.tool("toolu_1", odd), anthropic.tool("toolu_2", odd) }, function(message)
          message.content[1].arguments.b = 2
          message.content[1].arguments.b = 1
          message.content[2].arguments_json = nil
        end)
        has(bytes, '"id":"toolu_1","name":"look","input":{ "b":1,"a":[ ] }}')
        has(bytes, '"id":"toolu_2","name":"look","input":{"a":[],"b":1}}')
      end)
    end)

    describe("on the Chat wire" .. how, function()
      local function calls_json(arguments, extras, inner)
        local list = {}
        for i, text in ipairs(arguments) do
          list[i] = ('{"index":%d,"id":"call_%d","type":"function","function":{"name":"look","arguments":%s%s}%s}')
            :format(i - 1, i, quoted(text), inner or "", extras or "")
        end
        return '"tool_calls":[' .. table.concat(list, ",") .. "]"
      end

      -- The answer: members of the message, and the same in the deltas of a stream.
      local function body_of(members, deltas)
        return streaming and chat.stream(deltas or { table.unpack(members) }) or chat.plain(table.concat(members, ","))
      end

      local function openai() return adapter_of("openai", { model = "gpt-4.1", api = "chat" }) end

      it("has the arguments of every call as the model wrote them", function()
        local arguments = { ARGUMENTS, "{}", '{"a": 1}' }
        local deltas = {}
        for i, text in ipairs(arguments) do
          for k, part in ipairs(thirds(text)) do
            local id = k == 1 and ('"id":"call_%d","type":"function",'):format(i) or ""
            local name = k == 1 and '"name":"look",' or ""
            deltas[#deltas + 1] = ('"tool_calls":[{"index":%d,%s"function":{%s"arguments":%s}}]')
              :format(i - 1, id, name, quoted(part))
          end
        end
        local answer = body_of({ '"content":null', calls_json(arguments) }, deltas)
        local _, body, response = after(openai(), answer, streaming)
        for i, text in ipairs(arguments) do
          assert.are.equal(text, body.messages[2].tool_calls[i]["function"].arguments)
          assert.are.equal("call_" .. i, body.messages[2].tool_calls[i].id)
          assert.are.equal(text, response.tool_calls[i].arguments_json)
        end
        assert.are.equal(math.maxinteger, response.tool_calls[1].arguments.max)
        assert.are.equal(null, body.messages[2].content)
      end)

      it("has the caller's words and arguments where they were changed", function()
        local bytes, body = after(openai(), body_of({ '"content":"Old words."', calls_json { ARGUMENTS, ARGUMENTS } }),
          streaming, function(message)
            message.content[1].text = "New words."
            message.content[2].arguments.city = "Rome"
          end)
        lacks(bytes, "Old words")
        local message = body.messages[2]
        assert.are.equal("New words.", message.content)
        local first = assert(core.decode(message.tool_calls[1]["function"].arguments))
        assert.are.equal("Rome", first.city)
        assert.are.equal(9007199254740993, first.big)
        has(message.tool_calls[1]["function"].arguments, '"n":[],')
        has(message.tool_calls[1]["function"].arguments, '"o":{},')
        assert.are.equal(ARGUMENTS, message.tool_calls[2]["function"].arguments)
      end)

      it("has what a call carries beside its own fields", function()
        local extras = ',"extra_content":{"google":{"thought_signature":"c2ln/+==","n":[],"o":{},"z":null}}'
        local bytes = after(openai(), body_of { '"content":null', calls_json({ "{}" }, extras) }, streaming)
        has(bytes, extras .. "}]")
        bytes = after(openai(), body_of { '"content":null', calls_json({ "{}" }, ',"thought_signature":"dGg="') },
          streaming)
        has(bytes, '"thought_signature":"dGg="')
      end)

      it("has reasoning_details, every one as it came", function()
        local adapter = adapter_of("openrouter", { model = "anthropic/claude-sonnet-4.5" })
        local signed = '{"type":"reasoning.text","text":"Hm. é","signature":"c2ln+/=","format":"anthropic-claude-v1",'
          .. '"index":0,"id":null}'
        local hidden = '{"type":"reasoning.encrypted","data":"ZW5j+/=","id":"rs_1","format":"openai-responses-v1",'
          .. '"index":1}'
        local bytes = after(adapter, body_of { '"content":null,"reasoning":"Hm. é","reasoning_details":[' .. signed
          .. "," .. hidden .. "]", calls_json { "{}" } }, streaming)
        has(bytes, signed)
        has(bytes, '"signature":"c2ln+/="')
        has(bytes, hidden)
        local _, body = after(adapter, body_of { '"content":"x","reasoning_details":[' .. signed .. "," .. hidden
          .. "]", calls_json { "{}" } }, streaming)
        local details = body.messages[2].reasoning_details
        assert.are.equal("Hm. é", details[1].text)
        assert.are.equal("anthropic-claude-v1", details[1].format)
        assert.are.equal(2, #details)
      end)

      it("has reasoning_opaque beside reasoning_text", function()
        local adapter = adapter_of("compatible", { name = "copilot", model = "m",
          quirks = { reasoning_field = "reasoning_text" } })
        local bytes = after(adapter, body_of({ '"content":null,"reasoning_text":"Hm.","reasoning_opaque":"b3Bh+/=="',
          calls_json { "{}" } }, { '"reasoning_text":"Hm."', '"reasoning_opaque":"b3Bh+/=="', calls_json { "{}" } }),
          streaming)
        has(bytes, '"reasoning_text":"Hm."')
        has(bytes, '"reasoning_opaque":"b3Bh+/=="')
      end)

      it("has reasoning that the dialect wants back", function()
        local bytes = after(adapter_of("deepseek", { model = "deepseek-v4" }),
          body_of { '"content":"A","reasoning_content":"Hm. é"', calls_json { "{}" } }, streaming)
        has(bytes, '"reasoning_content":"Hm. é"')
        bytes = after(adapter_of("mistral", { model = "mistral-large-latest" }),
          body_of { '"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}],"closed":true},'
            .. '{"type":"text","text":"A"}]', calls_json { "{}" } }, streaming)
        has(bytes, '{"type":"thinking","thinking":[{"type":"text","text":"Hm."}],"closed":true}')
      end)
    end)
  end

  it("is legal also where the arguments were no JSON object", function()
    local adapter = adapter_of("openai", { model = "gpt-4.1", api = "chat" })
    for _, arguments in ipairs { "", "[1]", "oops", '{"a":', '"text"', "null" } do
      local deltas = { ('"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"look",'
        .. '"arguments":%s}}]'):format(quoted(arguments)) }
      local _, body, response = after(adapter, chat.stream(deltas), true)
      local call = body.messages[2].tool_calls[1]
      assert.is_table(core.decode(call["function"].arguments))
      if arguments == "" or arguments == "null" then
        assert.is_nil(response.tool_calls[1].arguments_error)
      else
        assert.is_string(response.tool_calls[1].arguments_error, arguments)
      end
      assert(server:reset())
    end
  end)

  -- Numbers beyond 64 bits are strings in Lua.
  it("has whole numbers beyond 64 bits as the model wrote them", function()
    local arguments = '{"id":18446744073709551615,"more":[123456789012345678901234567890]}'
    local bytes, _, response = after(adapter_of "anthropic", anthropic.plain { anthropic.tool("toolu_1", arguments) },
      false)
    assert.are.equal("18446744073709551615", response.tool_calls[1].arguments.id)
    has(bytes, '"input":' .. arguments)
  end)
end)
