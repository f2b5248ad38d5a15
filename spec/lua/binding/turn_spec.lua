-- How the engine gives its news, one by one: in turns, each kept until it is done, whatever interrupts the caller.

local core = require "koine.core"
local koine = require "koine"
local wait = require "koine.task.wait"

local TEXT = ("word "):rep(8)

describe("the engine's news", function()
  local server, claude
  before_each(function()
    server = assert(koine.testing.start())
    claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "test-key", retry = false,
      timeout = { total = 60 } }
  end)
  after_each(function() server:stop() end)

  -- So many streams, whose answers come in pieces.
  local function open(n)
    local answers, streams = {}, {}
    for i = 1, n do answers[i] = { content = TEXT, chunk = 5, fault = { write_bytes = 60 } } end
    assert(server:script(answers))
    for i = 1, n do streams[i] = assert(claude:open "Hi.") end
    return streams
  end

  -- Reads a stream to its end: its text.
  local function read(stream)
    local pieces = {}
    while true do
      local delta, err = stream:next()
      assert.is_nil(err)
      if not delta then return table.concat(pieces) end
      pieces[#pieces + 1] = delta.text
    end
  end

  it("comes in the order in which it came up, and again until it is done", function()
    local engine, streams = core.engine(), open(2)
    for _, stream in ipairs(streams) do assert.is_false(stream:poll()) end -- it is to be told
    local function has_news(stream) return stream:stats().bytes > 500 end -- more than its head
    while not (has_news(streams[1]) and has_news(streams[2])) do core.turn(engine) end
    local first, again = core.ready(engine)
    assert.is_nil(again)
    assert.is_true(first == streams[1] or first == streams[2])
    core.turn(engine, 3600) -- does not wait
    assert.are.same({ first, true }, { core.ready(engine) })
    local second = core.ready(engine, first)
    assert.are.equal(first == streams[1] and streams[2] or streams[1], second)
    local third = core.ready(engine, second) -- of which more has come meanwhile, or nothing
    assert.is_true(third == nil or third == first)
    assert.is_nil((core.ready(engine, third)))
    for _, stream in ipairs(streams) do assert.are.equal(TEXT, read(stream)) end
  end)

  it("is a step's, where a pump has not done it", function()
    local engine, stream = core.engine(), open(1)[1]
    assert.is_false(stream:poll())
    local given
    repeat
      core.turn(engine)
      given = core.ready(engine)
    until given
    local tokens, found = engine:step(0), false
    for _, token in ipairs(tokens) do found = found or token == given end
    assert.is_true(found)
    assert.are.equal(TEXT, read(stream))
  end)

  it("is not lost where a hook pumps between its instructions", function()
    for every = 1, 40 do
      local streams, inside = open(6), false
      debug.sethook(function()
        if inside then return end
        inside = true
        wait.pump(0)
        inside = false
      end, "", every)
      for i = #streams, 1, -1 do
        local text = read(streams[i])
        if text ~= TEXT then debug.sethook() end
        assert.are.equal(TEXT, text)
      end
      debug.sethook()
    end
  end)
end)
