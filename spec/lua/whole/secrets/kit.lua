--- Helpers of the specs of credentials: a key, adapters that have it, answers that repeat it, and the search for it.

local core = require "koine.core"
local koine = require "koine"
local watch = require "spec.support.run.secret_watch"

local kit = {}

--- The beginning of the key, the key, and the words in its place.
kit.MARK = "koine-secret"
kit.KEY = "koine-secret-0123456789/abcdefghijklmnopqrstuvwxyz+ABCDEF=="
kit.REDACTED = "[redacted]"

local quoted = core.encode

--- The wires, by provider: how each writes an error and a part of a stream.
local WIRES = {
  anthropic = { model = "claude-sonnet-4-5", path = "/v1/messages", header = "x-api-key", before = "" },
  openai = { model = "gpt-4.1", path = "/chat/completions", header = "authorization", before = "Bearer " },
}

-- An error body as each wire writes it; the last chunk of a stream that goes on with an error.
function WIRES.anthropic.error(message, code)
  return ('{"type":"error","error":{"type":%s,"message":%s},"request_id":"req_1"}'):format(quoted(code), message)
end
function WIRES.openai.error(message, code)
  return ('{"error":{"message":%s,"type":"invalid_request_error","param":null,"code":%s}}')
    :format(message, quoted(code))
end

function WIRES.anthropic.start(text)
  return 'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","role":"assistant","model":"m",'
    .. '"content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
    .. 'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text",'
    .. '"text":""}}\n\nevent: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{'
    .. '"type":"text_delta","text":' .. quoted(text) .. "}}\n\n"
end
function WIRES.openai.start(text)
  return 'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":' .. quoted(text)
    .. '},"finish_reason":null}]}\n\n'
end

function WIRES.anthropic.event(error) return "event: error\ndata: " .. error .. "\n\n" end
function WIRES.openai.event(error) return "data: " .. error .. "\n\n" end

kit.WIRES = WIRES

--- Fails when any of the key shows in an error or Response. Parts are looked for: half a key is a leak too.
function kit.assert_clean(value)
  local text = watch.text(value)
  for _, part in ipairs { kit.MARK, "0123456789", "abcdefghijklmnop", "ABCDEF==" } do
    local at = text:find(part, 1, true)
    assert(not at, at and ("%q shows: …%s…"):format(part, text:sub(math.max(1, at - 60), at + 80)))
  end
end

--- An adapter of a wire at a server, with the key; `options` are put over it.
function kit.adapter(server, name, options)
  local given = { model = WIRES[name].model, key = kit.KEY, base_url = server.url, retry = false,
    api = name == "openai" and "chat" or nil }
  for option, value in pairs(options or {}) do given[option] = value end
  return koine[name](given)
end

return kit
