-- The libraries of OpenAI and Anthropic read cassettes that the loopback provider serves: what they make of an answer
-- is what Koine makes of it. The cassettes hold what Koine recorded, and, where KOINE_RECORDINGS names a folder of
-- them, recordings of the providers themselves.

local cassette = require "spec.interop.support.cassette"
local core = require "koine.core"
local koine = require "koine"
local node = require "spec.interop.support.node"
local program = require "spec.interop.support.program"
local records = require "koine.data.records"

local CALLS = { { type = "text", text = "I look. é" },
  { type = "tool_use", id = "call_1", name = "add", arguments = { a = 2, b = "ü\n" } },
  { type = "tool_use", id = "call_2", name = "now", arguments = {} } }
local SCRIPT = { { content = "Hello. 😀", chunk = 2 }, { content = CALLS, chunk = 3 },
  { content = "cut", stop_reason = "max_tokens" } }

-- The wires: the client's name for each, our adapter, and the folder of its recordings.
local WIRES = {
  { name = "chat", new = koine.openai, model = "gpt-4.1", api = "chat", folder = "openai-chat" },
  { name = "responses", new = koine.openai, model = "gpt-4.1", api = "responses", folder = "openai-responses" },
  { name = "messages", new = koine.anthropic, model = "claude-sonnet-4-5", folder = "anthropic-messages" },
}

describe("a cassette", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function adapter(wire, tape)
    return wire.new { model = wire.model, api = wire.api, base_url = server.url, key = "interop-key", retry = false,
      transport = tape, max_tokens = 100 }
  end

  -- What the client says of exchanges 1 to n of the cassette at `path`; `streams` says which are streams.
  local function read_by_client(wire, path, streams)
    local script, steps = {}, core.array {}
    for i, stream in ipairs(streams) do
      script[i] = { replay = path, exchange = i }
      steps[i] = { with = wire.name, model = wire.model, prompt = "Hi.", stream = stream }
    end
    assert(server:reset())
    assert(server:script(script))
    local results = node.run("clients/cassettes.mjs", "shapes", steps, server.url)
    for _, request in ipairs(assert(server:requests())) do assert.are.same({}, request.problems) end
    return results
  end

  -- Asserts that the client read what Koine reads, in a Response's table.
  local function agree(response, result, where)
    assert.is_nil(result.error, where)
    assert.are.equal(response:text(), result.text, where)
    assert.are.equal(#response.tool_calls, #result.calls, where)
    for i, call in ipairs(response.tool_calls) do
      local other = result.calls[i]
      assert.are.same({ call.id, call.name }, { other.id, other.name }, where)
      if call.arguments_error then -- the answer was cut in the middle of them
        assert.are.equal(call.arguments_json, other.arguments, where)
      else
        assert.is_true(records.equal(call.arguments, assert(core.decode(other.arguments))), where)
      end
    end
    if response.usage.output_tokens then assert.are.equal(response.usage.output_tokens, result.output, where) end
  end

  for _, wire in ipairs(WIRES) do
    it("is what the client of " .. wire.name .. " reads", function()
      local streams, responses = {}, {}
      local path = cassette.judge(function(tape)
        local script, told = table.move(SCRIPT, 1, #SCRIPT, #SCRIPT + 1, { table.unpack(SCRIPT) }), {}
        assert(server:script(script))
        for i = 1, #script do
          streams[i] = i > #SCRIPT
          responses[i] = assert(adapter(wire, tape):chat("Hello " .. i, { stream = streams[i] }))
          told[i] = cassette.told(responses[i])
        end
        return told
      end)
      for i, result in ipairs(read_by_client(wire, path, streams)) do
        agree(responses[i], result, wire.name .. " " .. i)
      end
      cassette.remove(path)
    end)
  end

  -- The recordings of a wire that are no errors, as exchanges of a cassette; and which of them are streams.
  local function recordings(wire)
    local exchanges, streams, names = core.array {}, {}, {}
    local list <close> = assert(io.popen("ls " .. program.quote(os.getenv "KOINE_RECORDINGS" .. "/" .. wire.folder)))
    for name in list:lines() do
      local one = core.decode(program.read(("%s/%s/%s"):format(os.getenv "KOINE_RECORDINGS", wire.folder, name)))
      if one.response.status == 200 and not name:find "failed" then
        local stream = type(one.request.body) == "table" and one.request.body.stream == true
          or one.response.body:find "^event:" ~= nil or one.response.body:find "^data:" ~= nil
        exchanges[#exchanges + 1] = { request = { method = "POST", url = "https://recorded.invalid/", headers = {},
          body = tostring(#exchanges + 1) }, response = { status = 200, body = one.response.body,
          headers = { ["content-type"] = stream and "text/event-stream" or "application/json" } } }
        streams[#exchanges], names[#exchanges] = stream, name
      end
    end
    return exchanges, streams, names
  end

  for _, wire in ipairs(os.getenv "KOINE_RECORDINGS" and WIRES or {}) do
    it("of a provider's recordings is what the client of " .. wire.name .. " reads", function()
      local exchanges, streams, names = recordings(wire)
      local path = program.folder() .. "/tape.json"
      program.write(path, core.encode { format = "koine.cassette.v1", exchanges = exchanges })
      local results = read_by_client(wire, path, streams)
      assert.is_true(#results > 2)
      for i, result in ipairs(results) do
        local tape <close> = koine.testing.cassette.open(path, { mode = "replay",
          match = function(_, recorded) return recorded.body == tostring(i) end })
        local response = assert(adapter(wire, tape):chat("Hi.", { stream = streams[i] }))
        agree(response, result, wire.name .. " " .. names[i])
      end
      cassette.remove(path)
    end)
  end
end)
