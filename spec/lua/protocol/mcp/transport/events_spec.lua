-- Event streams of servers, at random: ids, retry times, comments, every end of a line, cut anywhere. What the
-- transport makes of them is what a second reader makes of the same bytes.

local events = require "koine.protocol.mcp.transport.http.events"
local served = require "spec.lua.net.served"
local streamed = require "koine.net.streamed"

local STREAMS = 150
local LINES = { "id: 7", "id:8", "id: a b", "id", "id:", "id: é", "id: a\0b", "id: \t9", "id: " .. ("x"):rep(4097),
  "retry: 20", "retry:0", "retry: 1x", "retry:", "retry: -5", "retry: 070", "data: {}", "data:", "data", "data: [1,",
  "data: 2]", "data:  ", ": comment",
  ":", "event: message", "event: other", "event:", "unknown: x", "x", "", "", "", "" }
local ENDS = { "\n", "\n", "\r\n", "\r" }
local RETRY = events.place().retry

-- Numbers that are the same on every machine.
local function generator(seed)
  return function(n)
    seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
    return (seed >> 8) % n + 1
  end
end

local function made(random)
  local parts = {}
  for i = 1, random(40) do parts[i] = LINES[random(#LINES)] .. ENDS[random(#ENDS)] end
  parts[#parts + 1] = "\n\n"
  return table.concat(parts)
end

-- The lines of a stream.
local function lines_of(text)
  return (text:gsub("\r\n", "\n"):gsub("\r", "\n")):gmatch "([^\n]*)\n"
end

-- What may be sent back as an id; an empty one says that there is none.
local function sayable(id) return id and id ~= "" and #id <= 4096 and not id:find "[^\t\x20-\x7E]" and id or nil end

-- The messages of a stream, and where it is at its end.
local function expected(text)
  local messages, place, id, block = {}, { retry = RETRY }, nil, {}
  for line in lines_of(text) do
    local field, value = line:match "^([^:]*):? ?(.*)$"
    if line == "" then
      if block.any then place.last_id, place.is_new = sayable(id), true end
      if block.retry then place.retry = block.retry end
      local data = block.data and table.concat(block.data, "\n")
      local is_plain = not block.event or block.event == "" or block.event == "message"
      if data and data:find "%S" and is_plain then messages[#messages + 1] = data end
      block = {}
    elseif field == "id" and not value:find "\0" then
      id, block.any = value, true
    elseif field == "retry" and value:find "^%d+$" then
      block.retry, block.any = math.tointeger(tonumber(value)), true
    elseif field == "data" then
      block.data, block.any = block.data or {}, true
      table.insert(block.data, value)
    elseif field == "event" then
      block.event = value
    end
  end
  return messages, place
end

-- Sends a stream in pieces that are cut anywhere.
local function send(conn, text, random)
  local parts, at = { served.stream_head() }, 1
  while at <= #text do
    local n = random(30)
    parts[#parts + 1] = served.chunk(text:sub(at, at + n - 1))
    at = at + n
  end
  parts[#parts + 1] = served.chunk ""
  for _, part in ipairs(parts) do
    if not conn:send(part) then return end
  end
end

describe("event streams at random", function()
  it("are read as a second reader reads them", function()
    local random, text = nil, nil
    served.run(function(conn) return send(conn, text, random) end, function(url)
      for seed = 1, STREAMS do
        random = generator(seed)
        text = made(random)
        local heard, place = {}, events.place()
        local peer = { receive = function(_, data)
          heard[#heard + 1] = data
          return true
        end }
        local answer <close> = assert(streamed.open { method = "GET", url = url })
        assert(events.read({ peer = peer }, answer, place, function() return false end))
        local messages, there = expected(text)
        assert.are.same(messages, heard, ("seed %d: %q"):format(seed, text))
        assert.are.same({ there.last_id, there.retry }, { place.last_id, place.retry },
          ("seed %d: %q"):format(seed, text))
      end
    end)
  end)
end)
