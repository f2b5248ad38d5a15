-- Answers written by hand (spec/wire/FOLDER/NAME.json), each played through the loopback provider whole and in pieces;
-- plain ones also where a stream was asked for. A fixture is {note, request, response = {status, headers, body},
-- expect}. `expect` is what spec.support.replay compares with; an id `call_*` in it stands for one that was made up.
-- With response.bytes, each character of the body stands for one byte: JSON cannot hold what is no UTF-8.

local core = require "koine.core"
local koine = require "koine"
local lfs = require "lfs"
local replay = require "spec.lua.codec.replay"

local DIRECTORY = "spec/wire"
-- folder → the one whose row plays it, where that is another
local DIALECT = { chat = "openai-chat", responses = "openai-responses", gemini = "gemini-generatecontent" }

-- The names in a folder, sorted; of files without ".json".
local function names(path, pattern)
  local list = {}
  for file in lfs.dir(path) do
    list[#list + 1] = file:match(pattern)
  end
  table.sort(list)
  return list
end

local function load(folder, name)
  local fixture = replay.load(DIRECTORY, folder, name)
  local file <close> = assert(io.open(fixture.path, "rb"))
  fixture.expect = assert(core.decode(file:read "a")).expect
  fixture.folder = DIALECT[folder] or folder
  return fixture
end

-- Ids ---------------------------------------------------------------------------------------------------------------

-- The expectation with the made-up ids that the answer has in place of `call_*`. Fails where one is misshapen or comes
-- twice.
local function with_ids(expected, response)
  if not response or not expected.content then return expected end
  local copy, content, used = {}, {}, {}
  for key, value in pairs(expected) do copy[key] = value end
  for i, block in ipairs(expected.content) do
    content[i] = block
    local got = response.content[i]
    if block.id == "call_*" and got then
      assert.matches("^call_" .. ("%x"):rep(24) .. "$", got.id)
      assert.is_nil(used[got.id], "an id used twice")
      used[got.id], content[i] = true, {}
      for key, value in pairs(block) do content[i][key] = value end
      content[i].id = got.id
    end
  end
  copy.content = content
  return copy
end

-- A call that the end of the body cut says so: it must not be taken for a call without arguments.
local function check_partial(err)
  if not err or err.kind ~= "stream_truncated" or not err.partial then return end
  for _, call in ipairs(err.partial.tool_calls) do assert.is_string(call.arguments_error) end
end

-- Bytes that are no UTF-8 -------------------------------------------------------------------------------------------

local SERVE = [[
local socket = require "socket"
local listener = assert(socket.bind("127.0.0.1", 0))
local _, port = listener:getsockname()
print(math.tointeger(tonumber(port)))
io.stdout:flush()
listener:settimeout(30)
local peer = assert(listener:accept())
local length, line = 0, nil
repeat
  line = assert(peer:receive "*l")
  length = tonumber(line:lower():match "^content%%-length:%%s*(%%d+)") or length
until line == ""
assert(peer:receive(length))
local body = %q
peer:send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
for at = 1, #body, %d do peer:send(body:sub(at, at + %d - 1)) end
peer:close()
]]

-- The part of a server that replay.run needs, in front of a child that answers one request with these bytes, `step` at
-- a time.
local function byte_server(body, step)
  local name <const> = os.tmpname()
  local file = assert(io.open(name, "wb"))
  file:write(SERVE:format(body, step, step))
  file:close()
  local child = assert(io.popen((os.getenv "KOINE_LUA" or "lua5.4") .. " " .. name))
  local url = "http://127.0.0.1:" .. child:read "l"
  os.remove(name)
  local function yes() return true end
  return { url = url, reset = yes, script = yes, requests = function()
    child:close()
    return { { problems = {} } }
  end }
end

local function bytes_of(text)
  return (text:gsub(utf8.charpattern, function(c) return string.char(utf8.codepoint(c)) end))
end

-- -------------------------------------------------------------------------------------------------------------------

describe("an answer", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  local function play(fixture, in_pieces)
    if fixture.response.bytes then
      local body = bytes_of(fixture.response.body)
      return replay.run(byte_server(body, in_pieces and 1 or #body), fixture)
    end
    return replay.run(server, fixture, { fault = in_pieces and replay.in_pieces(fixture) })
  end

  for _, folder in ipairs(names(DIRECTORY, "^[%w-]+$")) do
    for _, name in ipairs(names(DIRECTORY .. "/" .. folder, "^(.*)%.json$")) do
      it(("%s/%s is read as expected, whole and in small pieces"):format(folder, name), function()
        local fixture = load(folder, name)
        local whole = play(fixture)
        replay.check(with_ids(fixture.expect, whole.response), whole.response, whole.err, whole.deltas, whole.origin)
        replay.check_same(whole, play(fixture, true))
        check_partial(whole.err)
        if not fixture.streaming and (whole.response or fixture.response.status ~= 200) then
          local streamed = replay.run(server, fixture, { streaming = true })
          streamed.deltas = nil
          replay.check_same(whole, streamed)
        end
      end)
    end
  end

  -- The outcome when the connection breaks right behind the event that holds `mark`.
  local function broken_behind(fixture, mark, kind)
    local body = fixture.response.body
    local at = select(2, body:find("\n\n", select(2, body:find(mark, 1, true)), true))
    assert(at < #body)
    return replay.run(server, fixture, { fault = { [kind] = at } })
  end

  for _, kind in ipairs { "truncate_after", "reset_after" } do
    it("that breaks off behind the finish_reason is a success that says so: " .. kind, function()
      local fixture = load("chat", "text")
      local got = broken_behind(fixture, '"finish_reason":"stop"', kind)
      fixture.expect.usage, fixture.expect.warnings = {}, { "unclean_end" }
      replay.check(fixture.expect, got.response, got.err, got.deltas, got.origin)
    end)

    it("that breaks off behind the stop_reason but before message_stop is no success: " .. kind, function()
      local fixture = load("anthropic-messages", "text")
      local got = broken_behind(fixture, '"stop_reason":"end_turn"', kind)
      replay.check({ error = { class = "ConnectionError", kind = "stream_truncated", retryable = true, message = "",
        partial_text = fixture.expect.content[1].text, partial_usage = fixture.expect.usage } },
        got.response, got.err, got.deltas, got.origin)
    end)
  end
end)
