-- Which answers a connection survives.

local koine = require "koine"
local raw_server = require "spec.support.raw_server"

local GOOD <const> = [[{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],
  "stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}]]
local ERROR <const> = [[{"type":"error","error":{"type":"overloaded_error","message":"busy"}}]]
local EVENTS <const> = "text/event-stream"

-- The connections that three calls went over: each an answer of this kind, the last one good.
local function connections(status, body, content_type)
  local wrong = raw_server.kept(status, body, content_type)
  local server = raw_server.start(wrong, wrong, raw_server.kept(200, GOOD))
  local adapter = koine.anthropic { model = "claude-sonnet-4-5", key = "sk-ant-test", base_url = server.url,
    retry = false }
  local seen = {}
  for i = 1, 2 do
    local response, err = adapter:chat("Hi", { stream = content_type == EVENTS })
    assert.is_nil(response)
    seen[i] = err.kind
  end
  local last = assert(adapter:chat "Hi")
  assert.are.equal("ok", last:text())
  local used = {}
  for i, request in ipairs(server:requests()) do used[i] = request.connection end
  return used, seen
end

describe("a connection", function()
  it("is not used again after an error in a stream", function()
    local used, kinds = connections(200, "event: error\ndata: " .. ERROR .. "\n\n", EVENTS)
    assert.are.same({ "overloaded", "overloaded" }, kinds)
    assert.are.same({ 1, 2, 3 }, used)
  end)

  it("is not used again after an error that calls itself a success", function()
    assert.are.same({ 1, 2, 3 }, (connections(200, ERROR)))
  end)

  it("is not used again after an answer that is no answer", function()
    assert.are.same({ 1, 2, 3 }, (connections(200, "not JSON")))
    assert.are.same({ 1, 2, 3 }, (connections(200, "data: {]\n\n", EVENTS)))
  end)

  it("is used again after an error that the status tells", function()
    local used, kinds = connections(529, ERROR)
    assert.are.same({ "overloaded", "overloaded" }, kinds)
    assert.are.same({ 1, 1, 1 }, used)
  end)
end)
