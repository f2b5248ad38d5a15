--- Helpers of the specs of cassettes: a file of their own, an environment of their own, and a server in this process.

local core = require "koine.core"
local environment = require "spec.support.environment"
local files = require "koine.data.files"
local folder = require "spec.support.folder"
local koine = require "koine"
local served = require "spec.lua.net.served"

local kit = {}

local cassette = koine.testing.cassette
local directory

kit.KEY = "sk-ant-0123456789abcdefghij"

--- Before and after each test: an empty directory, and an environment that holds one key.
function kit.begin()
  directory = folder.in_memory()
  kit.path = directory .. "/tape.json"
  environment.replace { ANTHROPIC_API_KEY = kit.KEY }
end

function kit.restore()
  environment.restore()
  folder.remove(directory)
end

--- The text of the cassette; nil where there is none.
function kit.text() return (files.read(kit.path)) end

--- The cassette, decoded.
function kit.read() return core.decode(assert(kit.text())) end

--- Writes a cassette with these exchanges.
function kit.write(exchanges)
  assert(files.write(kit.path, core.encode { format = "koine.cassette.v1", exchanges = core.array(exchanges) }))
end

--- A plain answer of Messages that says a text.
function kit.plain(text)
  return core.encode { id = "msg_1", type = "message", role = "assistant", model = "claude-sonnet-4-5",
    content = { { type = "text", text = text } }, stop_reason = "end_turn",
    usage = { input_tokens = 1, output_tokens = 1 } }
end

--- The events of such an answer, an array of strings; the text comes in these pieces.
function kit.events(...)
  local events = { 'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","model":'
    .. '"claude-sonnet-4-5","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n',
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text",'
    .. '"text":""}}\n\n' }
  for _, piece in ipairs { ... } do
    events[#events + 1] = "event: content_block_delta\ndata: " .. core.encode { type = "content_block_delta",
      index = 0, delta = { type = "text_delta", text = piece } } .. "\n\n"
  end
  events[#events + 1] = 'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
  events[#events + 1] = 'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},'
    .. '"usage":{"output_tokens":2}}\n\n'
  events[#events + 1] = 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
  return events
end

--- A server's answer in events, each in a chunk of its own.
function kit.stream(...)
  local parts = { served.stream_head() }
  for _, event in ipairs(kit.events(...)) do parts[#parts + 1] = served.chunk(event) end
  return table.concat(parts) .. served.chunk ""
end

--- An exchange of a cassette: Claude asked for `prompt`, and said a text, in these chunks of events.
function kit.exchange(prompt, response)
  return { request = { method = "POST", url = "https://api.anthropic.com/v1/messages",
    headers = { ["anthropic-version"] = "2023-06-01" },
    json = { model = "claude-sonnet-4-5", max_tokens = 10, stream = true,
      messages = { { role = "user", content = { { type = "text", text = prompt } } } } } },
    response = response }
end

--- The response of such an exchange.
function kit.response(...)
  return { status = 200, headers = { ["content-type"] = "text/event-stream" }, body = table.concat(kit.events(...)) }
end

--- Claude on a tape; `more` goes over the options.
function kit.claude(tape, more)
  local options = { model = "claude-sonnet-4-5", max_tokens = 10, transport = tape,
    key = tape:key "ANTHROPIC_API_KEY", retry = false }
  for name, value in pairs(more or {}) do options[name] = value end
  return koine.anthropic(options)
end

--- Opens the cassette.
function kit.open(options) return cassette.open(kit.path, options) end

--- Runs f(url, count) beside a server whose nth request gets the bytes answers[n] (a function: of the connection), the
-- last one again and again; count() says how many came.
function kit.serve(answers, f)
  local count = 0
  served.run(function(conn)
    count = count + 1
    local answer = answers[count] or answers[#answers]
    if type(answer) == "function" then return answer(conn) end
    conn:send(answer)
    return true
  end, function(url) f(url, function() return count end) end)
end

return kit
