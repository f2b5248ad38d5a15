--- Plays scripted answers: the response that one gives to a request.

local data = require "koine.testing.loopback.copilot.data"
local echo = require "koine.testing.loopback.script.echo"
local json = require "koine.testing.loopback.json"
local recording = require "koine.testing.loopback.script.recording"
local response = require "koine.testing.loopback.response"
local script = require "koine.testing.loopback.script"

-- The response to a request that an answer cannot serve: `why` says the reason.
local function not_playable(state, endpoint, answer, why, record)
  local message = ("the script cannot be played: %s%s"):format(state.script.names[answer] or "", why)
  return response.script_error(endpoint, message, record)
end

-- The text of the credential in a request, as a careless proxy repeats it.
local function credential(headers)
  return headers["authorization"] or headers["x-api-key"] or headers["api-key"]
    or headers["x-goog-api-key"] or "none"
end

local function copy_with(t, key, value)
  local copy = {}
  for k, v in pairs(t) do
    copy[k] = v
  end
  copy[key] = value
  return copy
end

local function scripted_error(endpoint, answer, request, record)
  local err = answer.error.copilot and data.error(answer.error) or answer.error
  local status = err.status or 500
  if answer.fault and answer.fault.echo_authorization then
    err = copy_with(err, "message", ("%s (authorization: %s)"):format(err.message or "scripted error",
      credential(request.headers)))
    err.body = err.body and err.body .. credential(request.headers)
  end
  local made = response.error(endpoint, status, err, record)
  if err.body then
    made.pieces = { err.body }
  end
  return response.add_headers(made, err.headers)
end

local function scripted_reply(answer)
  local reply = answer.reply
  local body = reply.body or ""
  return response.add_headers(response.plain(reply.status or 200, type(body) == "string" and body or json.encode(body)),
    reply.headers)
end

local SKIPPED = { ["content-length"] = true, ["transfer-encoding"] = true, ["content-encoding"] = true,
                  ["connection"] = true }

-- A body in pieces of these sizes.
local function pieces_of(body, sizes)
  local pieces, at = {}, 1
  for i, size in ipairs(sizes or { #body }) do
    pieces[i], at = body:sub(at, at + size - 1), at + size
  end
  return pieces
end

local function replayed(answer)
  local found = assert(recording(answer.replay, answer.exchange))
  local headers = {}
  for name, value in pairs(found.headers or {}) do
    if not SKIPPED[name:lower()] then
      headers[#headers + 1] = { name, value }
    end
  end
  local is_stream = false
  for _, header in ipairs(headers) do
    is_stream = is_stream or header[1]:lower() == "content-type" and tostring(header[2]):find("stream") ~= nil
  end
  return { status = found.status, headers = headers, pieces = pieces_of(found.body, found.sizes), stream = is_stream,
    fault = found.fault }
end

local function scripted_content(state, endpoint, answer, body, record)
  local history = script.history(body, endpoint.history)
  local said = answer
  if answer.echo then
    local ok, content = pcall(echo, history, endpoint.result, endpoint.schema(body))
    if not ok then
      return not_playable(state, endpoint, answer, "the schema in the request is not a valid JSON Schema", record)
    end
    said = copy_with(answer, "content", content)
  end
  local plan = script.plan(said, { messages = #history, bytes = #json.encode(history), model = body.model,
                                   tool_prefix = endpoint.tool_prefix, id_prefix = endpoint.id_prefix,
                                   reasoning_field = endpoint.reasoning_field, rotate_ids = endpoint.rotate_ids })
  local failure = answer.stream_error
  if failure and not body.stream then
    local status = failure.status or endpoint.status(failure.code or failure.type)
    return response.error(endpoint, status, failure, record)
  end
  local pieces, why
  if body.stream then
    pieces, why = endpoint.stream(plan, body)
  else
    pieces, why = endpoint.plain(plan, body)
  end
  if not pieces then
    return not_playable(state, endpoint, answer, why, record)
  end
  endpoint.remember(state.issued, plan, body.model)
  local type_header = body.stream and { "content-type", endpoint.stream_type } or response.JSON
  return response.add_headers({ status = 200, headers = { type_header, endpoint.id_header(record.request_id) },
                       pieces = body.stream and pieces or { pieces }, stream = body.stream }, answer.headers)
end

--- The response that a scripted answer gives to a request, with a `fault` where a recording broke off; `body` is the
-- request's decoded body where an endpoint checked it. Notes in state.issued what was handed out.
return function(state, endpoint, answer, request, body, record)
  if answer.error then
    return scripted_error(endpoint, answer, request, record)
  elseif answer.reply then
    return scripted_reply(answer)
  elseif answer.replay then
    state.issued.open, state.issued.strict = true, false -- a recording hands out signatures of its own
    return replayed(answer)
  elseif answer.fault and answer.fault.echo_authorization and not answer.stream_error then
    local refusal = { error = { status = 401, message = "invalid key" }, fault = answer.fault }
    return scripted_error(endpoint, refusal, request, record)
  elseif not body then
    return not_playable(state, endpoint, answer, "this path is no chat's: embeddings or a reply expected", record)
  elseif answer.embeddings then
    return not_playable(state, endpoint, answer, "embeddings are no answer to a chat", record)
  end
  return scripted_content(state, endpoint, answer, body, record)
end
