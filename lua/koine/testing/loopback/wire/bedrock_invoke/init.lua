--- The endpoint for Claude through invoke of the loopback provider: Anthropic's answers as Amazon Bedrock hands them
-- through, streams in binary messages; errors and signatures are AWS's. Pure but for the memory tables its caller
-- passes in and the clock.

local anthropic = require "koine.testing.loopback.wire.anthropic"
local base64 = require "koine.data.base64"
local bedrock = require "koine.testing.loopback.wire.bedrock"
local check = require "koine.testing.loopback.wire.anthropic.check"
local frame = require "koine.testing.loopback.wire.bedrock.frame"
local json = require "koine.testing.loopback.json"

local invoke = {
  tool_prefix = "toolu_bdrk_", id_prefix = "msg_bdrk_", stream_type = bedrock.stream_type,
  paths = { "/model/MODEL/invoke", "/model/MODEL/invoke-with-response-stream" },
  status = bedrock.status, error_body = bedrock.error_body, error_header = bedrock.error_header,
  id_header = bedrock.id_header, missing_key = bedrock.missing_key,
  plain = anthropic.plain, remember = anthropic.remember, schema = anthropic.schema,
}

local function unescape(text)
  return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

--- Checks a request to /model/ID/invoke or /invoke-with-response-stream. Returns the decoded body (nil when it is no
-- object) with what its path says, `model` and `stream`, and an array of problems.
function invoke.check(request, _, issued)
  local id, action = request.target:match "^/model/([^/?]+)/([%l-]+)"
  local model = unescape(id or "")
  local body, problems = check(request, false, issued, { version = "bedrock-2023-05-31", model = model,
    betas_in_body = true, stream_in_path = true, data_only = true })
  if body then
    body.model, body.stream = model, action == "invoke-with-response-stream"
  end
  return body, problems
end

-- The metrics in the message that ends one of Anthropic's streams here.
local METRICS = ',"amazon-bedrock-invocationMetrics":{"inputTokenCount":1,"outputTokenCount":1,'
  .. '"invocationLatency":2,"firstByteLatency":1}}'

-- One of Anthropic's events as a chunk, with the padding that the service adds against eavesdroppers.
local function chunk(data)
  if data:find('^{"type":"message_stop"') then
    data = data:gsub("}$", METRICS)
  end
  return frame("event", "chunk", json.encode(json.object("bytes", base64(data), "p", "abcdefghijk")))
end

--- The pieces of the streamed answer, one per message. nil and the reason when it cannot be streamed.
function invoke.stream(plan, body)
  local events, why = anthropic.stream(plan, body)
  if not events then
    return nil, why
  end
  local out = {}
  for i, text in ipairs(events) do
    local name, data = text:match "^event: ([^\n]*)\ndata: ([^\n]*)\n\n$"
    out[i] = name == "error" and bedrock.exception(plan.stream_error) or chunk(data)
  end
  return out
end

return invoke
