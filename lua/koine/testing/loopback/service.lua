--- What the loopback provider answers: the control paths under /__koine, the faces, scripted plain paths. Holds the
-- state of one server: the script, the log of requests, what was handed out.

local anthropic = require "koine.testing.loopback.anthropic"
local chat = require "koine.testing.loopback.chat"
local copilot = require "koine.testing.loopback.copilot"
local data = require "koine.testing.loopback.copilot.data"
local fault = require "koine.testing.loopback.fault"
local json = require "koine.testing.loopback.json"
local paths = require "koine.testing.loopback.paths"
local responses = require "koine.testing.loopback.responses"
local script = require "koine.testing.loopback.script"

local service = {}

local FACES = { anthropic = anthropic, chat = chat, responses = responses }

local MODELS = {}
for i = 1, 25 do
  MODELS[i] = ("loopback-%02d"):format(i)
end

local JSON = { "content-type", "application/json" }
local SSE = { "content-type", "text/event-stream; charset=utf-8" }

local function new_issued()
  return { thinking = {}, redacted = {}, opaque = { anthropic = {}, responses = {} }, encrypted = {}, items = {},
           stored = {}, containers = {}, strict = false, open = false }
end

local function reset(state)
  state.log, state.issued, state.requests = {}, new_issued(), 0
  state.turns, state.next, state.by_path, state.own, state.echo = {}, 1, {}, {}, false
  if state.copilot then
    state.copilot:reset()
  end
end

local function set_script(state, turns)
  state.turns, state.next, state.by_path, state.own, state.echo = {}, 1, {}, {}, turns == "echo"
  for _, turn in ipairs(state.echo and {} or turns) do
    if turn.path then
      local list = state.by_path[turn.path] or {}
      list[#list + 1] = turn
      state.by_path[turn.path] = list
      paths.add(state.own, turn.path)
    else
      state.turns[#state.turns + 1] = turn
    end
  end
end

--- The next turn for a path: one that names the path, else (`any`) the next of the rest. nil when there is none.
local function next_turn(state, path, any)
  local named = state.by_path[path]
  if named and named[1] then
    return table.remove(named, 1)
  end
  local turn = any and state.turns[state.next]
  if turn then
    state.next = state.next + 1
  end
  return turn
end

local function plain_response(status, body, ...)
  return { status = status, headers = { JSON, ... }, pieces = { body } }
end

local function add_headers(response, headers)
  for name, value in pairs(headers or {}) do
    for i = #response.headers, 1, -1 do
      if response.headers[i][1]:lower() == name:lower() then
        table.remove(response.headers, i)
      end
    end
    response.headers[#response.headers + 1] = { name, value }
  end
  return response
end

local function error_response(face, status, err, record)
  return plain_response(status, face.error_body(status, err, record.request_id), face.id_header(record.request_id))
end

--- The text of the credential that came with a request, as an incautious proxy repeats it.
local function credential(headers)
  return headers["authorization"] or headers["x-api-key"] or headers["api-key"] or "none"
end

local function copy_with(t, key, value)
  local copy = {}
  for k, v in pairs(t) do
    copy[k] = v
  end
  copy[key] = value
  return copy
end

local function scripted_error(face, turn, request, record)
  local err = turn.error.copilot and data.error(turn.error) or turn.error
  local status = err.status or 500
  if turn.fault and turn.fault.echo_authorization then
    err = copy_with(err, "message", ("%s (authorization: %s)"):format(err.message or "scripted error",
      credential(request.headers)))
    err.body = err.body and err.body .. credential(request.headers)
  end
  local response = error_response(face, status, err, record)
  if err.body then
    response.pieces = { err.body }
  end
  return add_headers(response, err.headers)
end

local function scripted_reply(turn)
  local reply = turn.reply
  local body = reply.body or ""
  return add_headers(plain_response(reply.status or 200, type(body) == "string" and body or json.encode(body)),
    reply.headers)
end

local SKIPPED = { ["content-length"] = true, ["transfer-encoding"] = true, ["content-encoding"] = true,
                  ["connection"] = true }

local function replayed(turn)
  local recording = assert(script.recording(turn.replay))
  local headers = {}
  for name, value in pairs(recording.headers or {}) do
    if not SKIPPED[name:lower()] then
      headers[#headers + 1] = { name, value }
    end
  end
  local is_stream = false
  for _, header in ipairs(headers) do
    is_stream = is_stream or header[1]:lower() == "content-type" and tostring(header[2]):find("stream") ~= nil
  end
  return { status = recording.status, headers = headers, pieces = { recording.body }, stream = is_stream }
end

local function scripted_content(state, face, turn, body, record)
  local history = script.history(body)
  local plan = script.plan(turn, { messages = #history, bytes = #json.encode(history), model = body.model,
                                   tool_prefix = face.tool_prefix, id_prefix = face.id_prefix,
                                   reasoning_field = face.reasoning_field, rotate_ids = face.rotate_ids })
  local failure = turn.stream_error
  if failure and not body.stream then
    local status = failure.status or face.status(failure.code or failure.type)
    return error_response(face, status, failure, record)
  end
  local pieces, why
  if body.stream then
    pieces, why = face.stream(plan, body)
  else
    pieces, why = face.plain(plan, body)
  end
  if not pieces then
    return error_response(face, 500, { message = "the script cannot be played: " .. why }, record)
  end
  face.remember(state.issued, plan, body.model)
  return add_headers({ status = 200, headers = { body.stream and SSE or JSON, face.id_header(record.request_id) },
                       pieces = body.stream and pieces or { pieces }, stream = body.stream }, turn.headers)
end

--- The answer of a turn to a request; `body` is its decoded body where a face checked it.
local function play(state, face, turn, request, body, record)
  if turn.error then
    return scripted_error(face, turn, request, record)
  elseif turn.reply then
    return scripted_reply(turn)
  elseif turn.replay then
    state.issued.open, state.issued.strict = true, false -- a recording hands out signatures of its own
    return replayed(turn)
  elseif turn.fault and turn.fault.echo_authorization and not turn.stream_error then
    local refusal = { error = { status = 401, message = "invalid key" }, fault = turn.fault }
    return scripted_error(face, refusal, request, record)
  elseif not body then
    return error_response(face, 500, { message = "the script's turn for this path has no reply" }, record)
  end
  return scripted_content(state, face, turn, body, record)
end

local function answer_chat(state, face, request, record)
  local refusal = face.admit and face.admit(request, record)
  if refusal then
    return refusal
  end
  local missing = face.missing_key(request.headers)
  local body, problems, code = face.check(request, false, state.issued)
  record.problems = problems
  if missing then
    problems[#problems + 1] = missing
    return error_response(face, 401, { message = missing }, record)
  elseif #problems > 0 then
    return error_response(face, 400, { message = table.concat(problems, "; "), code = code }, record)
  end
  local turn = next_turn(state, request.path, true) or state.echo and script.echo(body)
  if not turn then
    local message = ("the script is exhausted: it has %d turns, this is one request more"):format(#state.turns)
    return add_headers(error_response(face, 500, { message = message }, record), { ["x-should-retry"] = "false" })
  end
  return play(state, face, turn, request, body, record), turn.fault
end

local function answer_count(state, face, request, record)
  local missing = face.missing_key(request.headers)
  local _, problems = face.check(request, true, state.issued)
  record.problems = problems
  if missing then
    return error_response(face, 401, { message = missing }, record)
  elseif #problems > 0 then
    return error_response(face, 400, { message = table.concat(problems, "; ") }, record)
  end
  return plain_response(200, face.count((#request.body + 3) // 4), face.id_header(record.request_id))
end

local function answer_models(face, request, record, id)
  local missing = face.missing_key(request.headers)
  if missing then
    return error_response(face, 401, { message = missing }, record)
  end
  local body, why
  if id then
    for _, known in ipairs(MODELS) do
      body = body or known == id and face.model(id) or nil
    end
    if not body then
      return error_response(face, 404, { message = "model: " .. id }, record)
    end
  else
    body, why = face.models(MODELS, request.query)
    if not body then
      return error_response(face, 400, { message = why }, record)
    end
  end
  return plain_response(200, body, face.id_header(record.request_id))
end

--- The face whose shapes a request to an unknown path expects.
local function face_of(request)
  return request.headers["anthropic-version"] and anthropic or chat
end

--- The answer to a path that is none: it names what was asked, and what there is.
local function no_such_path(conn, request, record)
  local problem = ("%s %s%s: no such path (a wrong base_url?); there are %s"):format(request.method, conn:url() or "",
    request.path, paths.words(request.path))
  record.problems[#record.problems + 1] = problem
  return error_response(face_of(request), 404, { message = problem }, record)
end

local function route(state, conn, request, record)
  local path, post, login = request.path, request.method == "POST", state.copilot
  local chats, wire, counts = login and login:face(request), nil, nil
  local others = not (login and copilot.holds(request)) -- a Copilot token is good for Copilot's own paths
  if others and not chats then
    wire, counts = paths.endpoint(path, state.own)
    chats = not counts and FACES[wire] or nil
  end
  if chats and post then
    return answer_chat(state, chats, request, record)
  end
  local turn, response, transport = next_turn(state, path, false), nil, nil
  if login then
    login:count(request)
    if not turn then
      response, transport = login:answer(request, record)
    end
  end
  if response then
    return response, transport
  elseif not turn and state.turns[state.next] and state.turns[state.next].replay then
    turn = next_turn(state, path, true)
  end
  if turn then
    return play(state, face_of(request), turn, request, nil, record), turn.fault
  elseif counts and post then
    return answer_count(state, FACES[wire], request, record)
  elseif others and request.method == "GET" then
    local found, id = paths.models(path, state.own)
    if found then
      return answer_models(face_of(request), request, record, id)
    end
  end
  if chats then
    return error_response(chats, 405, { message = "POST expected" }, record)
  end
  return no_such_path(conn, request, record)
end

local function control(state, request)
  local action = request.method .. " " .. request.path
  if action == "GET /__koine/requests" then
    return plain_response(200, json.encode(json.array(state.log)))
  elseif action == "POST /__koine/reset" then
    reset(state)
    return plain_response(200, "{}")
  elseif action == "POST /__koine/copilot" then
    local settings, err = json.decode(request.body)
    local problem = settings == nil and "not valid JSON: " .. tostring(err) or copilot.check(settings)
    if problem then
      return plain_response(400, json.encode(json.object("error", problem)))
    end
    state.copilot = state.copilot or copilot.new()
    state.copilot:configure(settings)
    return plain_response(200, "{}")
  elseif action == "GET /__koine/copilot" and state.copilot then
    return plain_response(200, json.encode(state.copilot:counters()))
  elseif action == "POST /__koine/script" then
    local turns, err = json.decode(request.body)
    local problem = turns == nil and "not valid JSON: " .. tostring(err)
      or turns ~= "echo" and script.check(turns) or nil
    if problem then
      return plain_response(400, json.encode(json.object("error", problem)))
    end
    set_script(state, turns)
    return plain_response(200, "{}")
  end
  return plain_response(404, json.encode(json.object("error",
    "GET /__koine/requests, POST /__koine/script, POST /__koine/reset, or, where settings for Copilot were given, " ..
    "GET /__koine/copilot expected")))
end

--- A handler for http.listen with a state of its own.
function service.new()
  local state = {}
  reset(state)
  return function(conn, request)
    if request.path:find("^/__koine/") then
      return (fault.send(conn, request, control(state, request)))
    end
    state.requests = state.requests + 1
    local record = {
      method = request.method, path = request.path, target = request.target, headers = request.headers,
      body = request.body, problems = json.array {}, connection = conn.id,
      request_id = ("req_%024x"):format(state.requests),
    }
    state.log[#state.log + 1] = record
    if state.copilot then
      state.copilot.url = state.copilot.url or conn:url()
    end
    local response, transport = route(state, conn, request, record)
    json.array(record.problems)
    record.status = response.status
    local keep, closed_after = fault.send(conn, request, response, transport)
    record.closed_after = closed_after
    return keep
  end
end

return service
