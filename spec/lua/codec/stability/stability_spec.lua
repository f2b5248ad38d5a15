-- The same request is the same bytes: in every process, under every locale, and up to where a history has grown. What
-- the caller hands in is left as it was.

local core = require "koine.core"
local deep = require "spec.support.deep"
local koine = require "koine"
local sample = require "spec.lua.codec.stability.sample"
local socket = require "socket"

local PROCESSES = 50
local LUA = os.getenv "KOINE_LUA" or "lua5.4"

-- Answers "ok", by wire.
local ANSWERS = {
  anthropic = '{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text",'
    .. '"text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}',
  chat = '{"id":"m","object":"chat.completion","model":"m","choices":[{"index":0,"message":'
    .. '{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}',
  responses = '{"id":"m","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"i",'
    .. '"role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok","annotations":[]}]}]}',
  gemini = '{"candidates":[{"content":{"parts":[{"text":"ok"}],"role":"model"},"finishReason":"STOP"}]}',
  bedrock = '{"output":{"message":{"role":"assistant","content":[{"text":"ok"}]}},"stopReason":"end_turn",'
    .. '"usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2},"metrics":{"latencyMs":1}}',
  ollama = '{"model":"m","message":{"role":"assistant","content":"ok"},"done":true,"done_reason":"stop"}',
}

-- Takes one request off the listener, answers "ok" as the wire does: the head and the body, as they came.
local function take(listener, wire)
  local client = assert(listener:accept())
  client:settimeout(20)
  local lines = {}
  repeat
    lines[#lines + 1] = assert(client:receive "*l")
  until lines[#lines] == ""
  local head = table.concat(lines, "\r\n")
  local body = assert(client:receive(tonumber(head:lower():match "content%-length: (%d+)")))
  local answer = ANSWERS[wire]
  client:send(("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s")
    :format(#answer, answer))
  client:close()
  return head, body
end

-- Runs a fresh process that sends the sample on all wires: {order = of its keys; an array of {head, body}, and the
-- body of a request for an answer with a shape}.
local function process(listener, environment, locale)
  local _, port = listener:getsockname()
  local command = ("%s %s spec/lua/codec/stability/send_sample.lua %d %s"):format(environment or "", LUA, port,
    locale or "")
  local pipe = assert(io.popen(command))
  local seen = {}
  for i, entry in ipairs(sample.adapters) do
    seen[i] = { take(listener, entry[3]) }
    seen[i][3] = select(2, take(listener, entry[3]))
  end
  seen.order = pipe:read "l"
  assert.are.equal("sent", pipe:read "l")
  assert(pipe:close())
  return seen
end

local COMMA <const> = 'LC_NUMERIC\\ndecimal_point ","\\nthousands_sep ""\\ngrouping -1\\nEND LC_NUMERIC\\n'

-- The environment under which a locale with a decimal comma exists, and its name; nil when none can be made. It is of
-- numbers alone, in ASCII: localedef complains of that, makes it, and is done in no time.
local function comma_locale()
  local directory = os.tmpname()
  os.remove(directory)
  local make = "mkdir %s && printf '%s' | localedef -c -f ANSI_X3.4-1968 %s/comma >/dev/null 2>&1"
  os.execute(make:format(directory, COMMA, directory))
  local numbers = io.open(directory .. "/comma/LC_NUMERIC")
  if not numbers then
    os.execute("rm -rf " .. directory)
    return nil
  end
  numbers:close()
  return "LOCPATH=" .. directory, "comma", function() os.execute("rm -rf " .. directory) end
end

describe("the same request", function()
  local listener, first

  setup(function()
    listener = assert(socket.bind("127.0.0.1", 0))
    listener:settimeout(20)
    first = process(listener)
  end)
  teardown(function() listener:close() end)

  it("is what the wires expect", function()
    for i, entry in ipairs(sample.adapters) do
      local head, body = first[i][1], first[i][2]
      assert.are.equal("POST " .. entry[5] .. " HTTP/1.1", head:match "^[^\r]*")
      assert.is_table(assert(core.decode(body)))
      -- 0.1 + 0.2 in the shortest form that reads back equal, 64-bit integers whole
      assert.is_truthy(body:find('"hours":[1,2.5,1e21,0.30000000000000004]', 1, true)
        or body:find('\\"hours\\":[1,2.5,1e21,0.30000000000000004]', 1, true), body)
      -- properties in the order of `required`, else of the text, which only Gemini is told
      local ordering = entry[3] == "gemini"
      assert.is_truthy(body:find('"properties":{"d":{"type":"number"},"b":{"type":"number"},"a":{"type":"number"},'
        .. '"c":{"type":"number"}}' .. (ordering and ',"propertyOrdering":["d","b","a","c"]' or "")
        .. ',"required":["d","b"]', 1, true), body)
      assert.is_truthy(body:find('"properties":{"why":{"type":"string"},"answer":{"properties":{"yes":'
        .. '{"type":"boolean"},"also":{}}', 1, true), body)
      assert.are.equal(ordering, body:find("propertyOrdering", 1, true) ~= nil)
      -- arguments_json as it was written
      local arguments = '{"b": -0.5, "a":9007199254740993,"d":-9223372036854775808, "c":9223372036854775807}'
      assert.is_truthy(body:find(arguments, 1, true) or body:find((arguments:gsub('"', '\\"')), 1, true), body)
    end
    for i = 1, #sample.adapters do -- the properties of a shape in the order of `required`
      local body, at = first[i][3]:gsub('\\"', '"'), 0
      for _, name in ipairs { "why", "answer", "yes", "by", "also" } do
        at = assert(body:find(('"%s":{'):format(name), at + 1, true), body)
      end
      local is_field = body:find("responseJsonSchema", 1, true) ~= nil -- Gemini's; of a model that has it
      assert.are.equal(is_field, body:find("propertyOrdering", 1, true) ~= nil)
    end
    assert.is_truthy(first[1][1]:find("\r\nanthropic-beta: beta-one-2026-01-01,beta-two-2026-01-01\r\n", 1, true))
  end)

  it(("is the same bytes in %d processes, headers and their order included"):format(PROCESSES), function()
    local orders, distinct = {}, 0
    for _ = 1, PROCESSES do
      local seen = process(listener)
      assert.are.same({ table.unpack(first) }, { table.unpack(seen) })
      if not orders[seen.order] then orders[seen.order], distinct = true, distinct + 1 end
    end
    assert.is_true(distinct > 1, "all processes keep tables in one order: this shows nothing")
  end)

  it("is the same bytes where numbers have a decimal comma", function()
    local environment, name, remove = comma_locale()
    if not name then
      pending "no locale with a decimal comma can be made here"
      return
    end
    local ok, seen = pcall(process, listener, environment, name)
    remove()
    assert(ok, seen)
    assert.are.same({ table.unpack(first) }, { table.unpack(seen) })
  end)
end)

describe("a growing history", function()
  local rows = {
    { "mistral", "mistral-large-latest", "chat", "" }, { "deepseek", "deepseek-v4", "chat", "" },
    { "groq", "openai/gpt-oss-120b", "chat", "" }, { "openrouter", "anthropic/claude-sonnet-4.5", "chat", "" },
    { "xai", "grok-4.3", "chat", "" },
  }
  table.move(sample.adapters, 1, #sample.adapters, #rows + 1, rows)
  for _, row in ipairs(rows) do
    it(("only extends the bytes before it: %s, %s"):format(row[1], row[3]), function()
      local server <close> = assert(koine.testing.start())
      assert(server:script "echo")
      local adapter = sample.adapter(row, server.url)
      local history, options = sample.history(row[1], adapter:model_name()), sample.options(row[3])
      -- what one of the wires refuses on the loopback provider, which knows no row
      options.extra, options.temperature, options.top_p = nil, nil, nil
      if row[1] == "xai" then options.tools = { options.tools[1] } end -- its strict schemas lack additionalProperties
      local sent = 0
      for n = 1, #history, 2 do
        assert(adapter:chat(table.move(history, 1, n, 1, {}), options))
        sent = sent + 1
      end
      local list = assert(server:requests())
      assert.are.equal(sent, #list)
      for i, request in ipairs(list) do
        assert.are.same({}, request.problems)
        assert.are.equal("]}", request.body:sub(-2))
        if i > 1 then
          local before = list[i - 1].body:sub(1, -3)
          assert.is_true(#request.body > #before)
          assert.are.equal(before, request.body:sub(1, #before))
        end
      end
    end)
  end
end)

describe("the caller's table", function()
  local server
  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  for _, entry in ipairs(sample.adapters) do
    local wire = ("%s, %s"):format(entry[2], entry[3])
    local function adapter() return sample.adapter(entry, server.url) end

    local function unchanged(call)
      local messages, options = sample.history(entry[1], adapter():model_name()), sample.options(entry[3])
      options.extra, options.metadata = nil, { user_id = "u-1" }
      if entry[1] == "bedrock" then options.top_p = nil end
      local messages_before, options_before = deep.copy(messages), deep.copy(options)
      call(messages, options)
      assert.is_nil(deep.difference(messages_before, messages, "messages"))
      assert.is_nil(deep.difference(options_before, options, "options"))
    end

    it("is left alone by chat, stream and count: " .. wire, function()
      assert(server:script "echo")
      unchanged(function(messages, options) assert(adapter():chat(messages, options)) end)
      unchanged(function(messages, options)
        for _ in adapter():stream(messages, options) do end -- luacheck: ignore
      end)
      unchanged(function(messages, options)
        options = { system = options.system, tools = options.tools }
        assert(adapter():count_tokens(messages, options))
      end)
    end)

    it("is left alone by calls that fail or are refused: " .. wire, function()
      assert(server:script { { error = { status = 400 } } })
      unchanged(function(messages, options) assert.is_nil(adapter():chat(messages, options)) end)
      unchanged(function(messages, options)
        options.no_such_option = 1
        assert.is_false(pcall(adapter().chat, adapter(), messages, options))
        assert.are.equal(1, options.no_such_option)
        options.no_such_option = nil
      end)
      unchanged(function(messages, options)
        messages[2].content[2].type = "no_such_block"
        assert.is_false(pcall(adapter().chat, adapter(), messages, options))
        messages[2].content[2].type = "text"
      end)
    end)
  end

  it("may be frozen: nothing is written, not even to be undone", function()
    assert(server:script "echo")
    local function frozen(value)
      if type(value) ~= "table" then return value end
      local copy = {}
      for key, member in next, value do copy[key] = frozen(member) end
      -- raw writes could pass; deep.difference above sees those
      return setmetatable(copy, { __newindex = function(_, key) error("written: " .. tostring(key)) end })
    end
    local adapter = koine.anthropic { model = "claude-sonnet-4-5", key = "test-key", base_url = server.url }
    local messages = frozen(sample.history("anthropic", "claude-sonnet-4-5"))
    local options = sample.options()
    assert(adapter:chat(messages, { system = frozen(options.system), tools = frozen(options.tools) }))
  end)
end)
