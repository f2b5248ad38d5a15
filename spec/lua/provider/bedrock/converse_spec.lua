-- Converse's answers on the whole way: exceptions in a stream, new dates for each attempt; with recordings
-- (KOINE_RECORDINGS) that what the model said goes back as it came, and that invoke's events are Anthropic's.

local core = require "koine.core"
local koine = require "koine"
local frame = require "koine.testing.loopback.wire.bedrock.frame"
local raw_server = require "spec.support.raw_server"

local MODEL = "us.anthropic.claude-3-7-sonnet-20250219-v1:0"
local directory = os.getenv "KOINE_RECORDINGS"

-- A message of a stream that was made by hand, elsewhere.
local EXCEPTION = core.base64_decode("AAAAkAAAAGGOkam3DzpleGNlcHRpb24tdHlwZQcAE3Rocm90dGxpbmdFeGNlcHRpb24NOmNvbn"
  .. "RlbnQtdHlwZQcAEGFwcGxpY2F0aW9uL2pzb24NOm1lc3NhZ2UtdHlwZQcACWV4Y2VwdGlvbnsibWVzc2FnZSI6IlRvbyBtYW55IHJlcXVlc3Rz"
  .. "In3mf4AF")

local function text_event(text)
  return frame("event", "contentBlockDelta", core.encode { contentBlockIndex = 0, delta = { text = text } })
end

local function stream_answer(body)
  return raw_server.answer(200, body, "application/vnd.amazon.eventstream")
end

describe("a stream of Converse", function()
  it("that ends in an exception is not asked for again once something of it was told", function()
    local body = text_event "a" .. text_event "b" .. text_event "c" .. EXCEPTION
    local server = raw_server.start(stream_answer(body))
    local told = {}
    local response, err = koine.bedrock { model = MODEL, key = "k", base_url = server.url, retry = { max = 2 } }
      :chat("Hi", { on_delta = function(delta) told[#told + 1] = delta.text end })
    assert.are.equal(1, #server:requests())
    assert.is_nil(response)
    assert.are.same({ "RateLimitError", "rate_limit", "throttling", "Too many requests", "abc" },
      { err.class, err.kind, err.code, err.message, err.partial:text() })
    assert.are.equal("abc", table.concat(told))
  end)

  it("that begins with one is", function()
    local stop = frame("event", "messageStop", '{"stopReason":"end_turn"}') .. frame("event", "metadata", "{}")
    local server = raw_server.start(stream_answer(EXCEPTION), stream_answer(text_event "a" .. stop))
    local response = assert(koine.bedrock { model = MODEL, key = "k", base_url = server.url,
      retry = { max = 1 } }:chat("Hi", { stream = true }))
    assert.are.equal(2, #server:requests())
    assert.are.same({ "a", 2 }, { response:text(), #response.attempts })
  end)
end)

describe("an attempt at Bedrock", function()
  it("is signed with a date of its own", function()
    local server <close> = assert(koine.testing.start())
    assert(server:script { { error = { status = 503, headers = { ["retry-after"] = "1.1" } } }, { content = "b" } })
    assert(koine.bedrock { model = MODEL, region = "eu-west-1", base_url = server.url,
      credentials = { access_key = "AKIDLOOPBACK", secret_key = "loopback/secret+key" } }:chat "Hi")
    local requests = server:requests()
    assert.are.same({ {}, {} }, { requests[1].problems, requests[2].problems })
    assert.is_true(requests[2].headers["x-amz-date"] > requests[1].headers["x-amz-date"])
    assert.are_not.equal(requests[1].headers.authorization, requests[2].headers.authorization)
  end)
end)

if directory then
  local function recording(name)
    local file <close> = assert(io.open(("%s/%s.json"):format(directory, name), "rb"))
    return assert(core.decode(file:read "a")).response
  end

  describe("a recording of Bedrock", function()
    it("goes back as it came: thinking, text and call", function()
      local answer = recording "bedrock-converse/thinking-tool-use"
      local server = raw_server.start(raw_server.answer(200, answer.body), raw_server.answer(200, answer.body))
      local adapter = koine.bedrock { model = MODEL, key = "k", base_url = server.url }
      local options = { tools = { { name = "get_user_country" } }, thinking = { budget_tokens = 1024 } }
      local history = { { role = "user", content = "Hi" } }
      local response = assert(adapter:chat(history, options))
      history[2] = response:message()
      history[3] = { role = "user", content = { { type = "tool_result", tool_use_id = response.tool_calls[1].id,
        content = "Mexico" } } }
      assert(adapter:chat(history, options))
      local sent = core.decode(server:requests()[2].body).messages[2]
      assert.are.equal(core.encode(core.decode(answer.body).output.message), core.encode(sent))
    end)

    it("through invoke says what its events say without Bedrock's messages around them", function()
      local bytes, events, at = core.base64_decode(recording "bedrock-invoke/anthropic-stream-tool-use".body), {}, 1
      while at < #bytes do
        local total, headers = string.unpack(">I4I4", bytes, at)
        local payload = core.decode(bytes:sub(at + 12 + headers, at + total - 5))
        local event = core.base64_decode(payload.bytes)
        events[#events + 1] = ("event: %s\ndata: %s\n\n"):format(core.decode(event).type, event)
        at = at + total
      end
      local function response_of(make, answer, options)
        local server = raw_server.start(answer)
        options.model, options.key, options.base_url = MODEL, "k", server.url
        local response = assert(make(options):chat("Hi", { stream = true })):to_table()
        server:requests()
        response.headers, response.provider, response.attempts = nil, nil, nil
        response.usage.cost, response.usage.cost_source = nil, nil
        for _, block in ipairs(response.content) do block.provider_data = nil end
        return response
      end
      local wrapped = response_of(koine.bedrock_claude, stream_answer(bytes), { api = "invoke" })
      local plain = response_of(koine.anthropic, raw_server.answer(200, table.concat(events),
        "text/event-stream"), {})
      assert.are.equal(10, #events)
      assert.are.same(plain, wrapped)
    end)
  end)
end
