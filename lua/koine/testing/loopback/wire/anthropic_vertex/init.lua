--- The endpoint for Claude on Vertex AI of the loopback provider: Anthropic's answers and streams behind Google's
-- paths. Refusals of credentials, quotas and names of models are Google's, those of requests Anthropic's. Pure but for
-- the memory tables its caller passes in.

local anthropic = require "koine.testing.loopback.wire.anthropic"
local check = require "koine.testing.loopback.wire.anthropic.check"
local gemini = require "koine.testing.loopback.wire.gemini"

local vertex = {
  tool_prefix = "toolu_vrtx_", id_prefix = "msg_vrtx_", stream_type = anthropic.stream_type,
  paths = { "/models/MODEL:rawPredict", "/models/MODEL:streamRawPredict" },
  count_path = "/models/count-tokens:rawPredict",
  status = anthropic.status, id_header = anthropic.id_header, plain = anthropic.plain, remember = anthropic.remember,
  count = anthropic.count, schema = anthropic.schema,
}

local GOOGLES = { [401] = true, [403] = true, [404] = true, [429] = true }

--- An error body: Google's or Anthropic's, by the status; Anthropic's where it has a type.
function vertex.error_body(status, err, request_id)
  local body = GOOGLES[status] and not err.type and gemini.error_body or anthropic.error_body
  return body(status, err, request_id)
end

--- True for the path of a request to this endpoint.
function vertex.knows(_, path)
  return path:find("/publishers/anthropic", 1, true) ~= nil
end

--- The message when the request carries neither token nor key, else nil.
function vertex.missing_key(headers)
  if not (headers["authorization"] or ""):find("^Bearer %S+$") and (headers["x-goog-api-key"] or "") == "" then
    return "Request is missing required authentication credential. Expected OAuth 2 access token"
  end
end

local function unescape(text)
  return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

--- Checks a request to …/models/ID:rawPredict or :streamRawPredict or, when `count` is set, to
-- …/models/count-tokens:rawPredict. Returns the decoded body (nil when it is no object) with what its path says,
-- `model`, and an array of problems.
function vertex.check(request, count, issued)
  local id, verb = request.target:match "/models/([^/:?]+):(%a+)"
  local model = not count and unescape(id or "") or nil
  local body, problems = check(request, count, issued, { version = "vertex-2023-10-16", model = model })
  if body and model then
    body.model = model
    if (verb == "streamRawPredict") ~= (body.stream == true) then
      problems[#problems + 1] = "stream: true expected at streamRawPredict, and nowhere else"
    end
  end
  return body, problems
end

--- The pieces of the streamed answer, one per event, with the blanks that Vertex AI puts into their data. nil and the
-- reason when it cannot be streamed.
function vertex.stream(plan, body)
  local events, why = anthropic.stream(plan, body)
  for i, text in ipairs(events or {}) do
    events[i] = text:gsub("}\n\n$", (" "):rep(i % 7) .. "}\n\n")
  end
  return events, why
end

return vertex
