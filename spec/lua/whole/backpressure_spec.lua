local koine = require "koine"
local wait = require "koine.task.wait"

local MIB = 1 << 20
local HIGH_WATER = 256 << 10 -- the default of limits.high_water
local PIECE = 64 << 10       -- bytes of text in a delta

-- AddressSanitizer keeps what was freed: what is in memory says nothing then.
local SANITIZED = (os.getenv "LD_PRELOAD" or ""):find("libasan", 1, true) ~= nil

-- The text of delta i: no two are alike, so that one lost, doubled or out of place shows.
local function piece(i)
  local line = ("%07d "):format(i)
  return line:rep(PIECE // #line)
end

local START = [[
event: message_start
data: {"type":"message_start","message":{"type":"message","id":"msg_1","role":"assistant","model":"m","content":[],]] ..
  [["stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

]]
local DELTA = [[
event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}

]]
local STOP = [[
event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

]]

-- Writes a recording of a stream of n pieces piece by piece, so that this process never holds it: its path.
local function record(n)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  local function write(text) assert(file:write((text:gsub('[\\"]', "\\%0"):gsub("\n", "\\n")))) end
  assert(file:write '{"response":{"status":200,"headers":{"content-type":"text/event-stream"},"body":"')
  write(START)
  for i = 1, n do write(DELTA:format(piece(i))) end
  write(STOP)
  assert(file:write '"}}')
  file:close()
  return path
end

-- Bytes of this process that are in memory.
local function resident()
  local file <close> = assert(io.open "/proc/self/status")
  return tonumber(file:read "a":match "VmRSS:%s*(%d+)") << 10
end

-- The first delta with text.
local function first_text(stream)
  local delta
  repeat delta = assert(stream:next()) until delta.type == "text_delta"
  return delta.text
end

-- Reads what is left after the first piece, comparing every byte.
local function read_rest(stream, n)
  local seen = 1
  for delta in stream.next, stream do
    if delta.type == "text_delta" then
      seen = seen + 1
      assert(delta.text == piece(seen), "the text of a delta is not the one that was sent")
    end
  end
  assert.are.equal(n, seen)
  local response = assert(stream:response())
  local text = response:text()
  assert.are.equal(n * PIECE, #text)
  for i = 1, n do
    assert(text:sub((i - 1) * PIECE + 1, i * PIECE) == piece(i), "the Response is not what was sent")
  end
  assert.are.equal("end_turn", response.stop_reason)
  assert.are.same({}, response.warnings)
end

describe("a stream whose consumer stops", function()
  local server, claude, paths

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    paths = {}
    claude = koine.anthropic { model = "m", base_url = server.url, key = "test-key-1", retry = false }
  end)

  after_each(function()
    for _, path in ipairs(paths) do os.remove(path) end
  end)

  -- A script: `before` small streams, then one of n pieces, then `after` small ones.
  local function script(before, n, after)
    local answers, small = {}, { content = ("word "):rep(40000), chunk = 1000 }
    for i = 1, before do answers[i] = small end
    paths[1] = record(n)
    answers[before + 1] = { replay = paths[1] }
    for i = 1, after do answers[before + 1 + i] = small end
    assert(server:script(answers))
  end

  -- Reads small streams on the same engine, one after the other: the bytes of their text.
  local function read_others(others)
    local bytes = 0
    for _ = 1, others do
      local text = {}
      for delta in claude:stream "Hi" do text[#text + 1] = delta.text end
      assert(table.concat(text) == ("word "):rep(40000))
      bytes = bytes + 5 * 40000
      collectgarbage() -- or what is garbage would count, and be more where the heap is larger
    end
    return bytes
  end

  it("holds no more than high_water and a mebibyte of 64, lets others go on, and loses nothing", function()
    local n = 64 * MIB // PIECE
    script(40, n, 40)
    read_others(40) -- what they need in memory is there from here on
    local before = resident()
    local stream <close> = assert(claude:open "Hi")
    assert(first_text(stream) == piece(1))

    -- It had every chance: the engine carried far more than the bound for the others.
    assert.is_true(read_others(40) > 4 * (HIGH_WATER + MIB))
    local stats = stream:stats()
    assert.is_true(stats.bytes >= HIGH_WATER, stats.bytes .. " bytes received")
    assert.is_true(stats.bytes < HIGH_WATER + MIB, stats.bytes .. " bytes received")
    assert.is_true(stats.retained >= HIGH_WATER - PIECE, stats.retained .. " bytes retained")
    assert.is_true(stats.peak >= stats.retained and stats.peak < HIGH_WATER + MIB, stats.peak .. " bytes at the peak")
    local more = resident() - before
    assert.is_true(SANITIZED or more < 4 * MIB, ("%d bytes more in memory"):format(more))

    -- And it stays where it is, however often the engine is stepped.
    for _ = 1, 100 do wait.pump(0) end
    assert.are.equal(stats.bytes, stream:stats().bytes)

    read_rest(stream, n)
    assert.is_true(stream:stats().bytes > n * PIECE)
    assert.is_nil(stream:stats().idle)
  end)

  it("does so in a task too, with a high_water of its own", function()
    local n, high_water = 8 * MIB // PIECE, 32 << 10
    script(0, n, 10)
    koine.run(function()
      local stream <close> = assert(claude:open("Hi", { limits = { high_water = high_water } }))
      assert(first_text(stream) == piece(1))
      local others = koine.spawn(read_others, 10)
      assert.is_true(others:wait() > high_water + MIB)
      local stats = stream:stats()
      assert.is_true(stats.bytes < high_water + MIB)
      assert.is_true(stats.peak < high_water + MIB)
      read_rest(stream, n)
    end)
  end)
end)
