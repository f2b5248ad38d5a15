--- What the loopback provider answers: the control paths under /__koine, the endpoints, scripted plain paths. Holds the
-- state of one server: the script, the log of requests, what was handed out.

local copilot = require "koine.testing.loopback.copilot"
local data = require "koine.testing.loopback.copilot.data"
local embeddings = require "koine.testing.loopback.embeddings"
local fault = require "koine.testing.loopback.fault"
local issued = require "koine.testing.loopback.issued"
local json = require "koine.testing.loopback.json"
local paths = require "koine.testing.loopback.paths"
local script = require "koine.testing.loopback.script"

local service = {}

local endpoints = paths.endpoints

-- What there is beside chats: "METHOD PATH" → its endpoint.
local BESIDE = {}
for _, endpoint in pairs(endpoints) do
  for path in pairs(endpoint.beside or {}) do
    BESIDE[path] = endpoint
  end
end

local MODELS = {}
for i = 1, 25 do
  MODELS[i] = ("loopback-%02d"):format(i)
end

local JSON = { "content-type", "application/json" }

local function reset(state)
  state.log, state.issued, state.requests = {}, issued.new(endpoints), 0
  state.answers, state.next, state.by_path, state.own, state.echo = {}, 1, {}, {}, false
  state.names = {}
  if state.copilot then
    state.copilot:reset()
  end
end

local function set_script(state, answers)
  state.answers, state.next, state.by_path, state.own, state.echo = {}, 1, {}, {}, answers == "echo"
  state.names = {}
  for i, answer in ipairs(state.echo and {} or answers) do
    state.names[answer] = ("answers[%d]: "):format(i)
    if answer.path then
      local list = state.by_path[answer.path] or {}
      list[#list + 1] = answer
      state.by_path[answer.path] = list
      paths.add(state.own, answer.path)
    else
      state.answers[#state.answers + 1] = answer
    end
  end
end

--- The next answer for a path: one that names the path, else (`any`) the next of the rest. nil when there is none.
local function next_answer(state, path, any)
  local named = state.by_path[path]
  if named and named[1] then
    return table.remove(named, 1)
  end
  local answer = any and state.answers[state.next]
  if answer then
    state.next = state.next + 1
  end
  return answer
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

local function error_response(endpoint, status, err, record)
  local id = record.request_id
  return plain_response(status, endpoint.error_body(status, err, id), endpoint.id_header(id),
    endpoint.error_header and endpoint.error_header(status, err))
end

--- The answer where the script is at fault. No client shall retry it: the next answer is for another call.
local function script_response(endpoint, message, record)
  return add_headers(error_response(endpoint, 500, { message = message }, record), { ["x-should-retry"] = "false" })
end

local function not_playable(state, endpoint, answer, why, record)
  return script_response(endpoint, ("the script cannot be played: %s%s"):format(state.names[answer] or "", why), record)
end

--- The text of the credential in a request, as a careless proxy repeats it.
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
  local response = error_response(endpoint, status, err, record)
  if err.body then
    response.pieces = { err.body }
  end
  return add_headers(response, err.headers)
end

local function scripted_reply(answer)
  local reply = answer.reply
  local body = reply.body or ""
  return add_headers(plain_response(reply.status or 200, type(body) == "string" and body or json.encode(body)),
    reply.headers)
end

local SKIPPED = { ["content-length"] = true, ["transfer-encoding"] = true, ["content-encoding"] = true,
                  ["connection"] = true }

local function replayed(answer)
  local recording = assert(script.recording(answer.replay))
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

local function scripted_content(state, endpoint, answer, body, record)
  local history = script.history(body)
  local plan = script.plan(answer, { messages = #history, bytes = #json.encode(history), model = body.model,
                                   tool_prefix = endpoint.tool_prefix, id_prefix = endpoint.id_prefix,
                                   reasoning_field = endpoint.reasoning_field, rotate_ids = endpoint.rotate_ids })
  local failure = answer.stream_error
  if failure and not body.stream then
    local status = failure.status or endpoint.status(failure.code or failure.type)
    return error_response(endpoint, status, failure, record)
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
  local type_header = body.stream and { "content-type", endpoint.stream_type } or JSON
  return add_headers({ status = 200, headers = { type_header, endpoint.id_header(record.request_id) },
                       pieces = body.stream and pieces or { pieces }, stream = body.stream }, answer.headers)
end

--- The response that a scripted answer gives to a request; `body` is its decoded body where an endpoint checked it.
local function play(state, endpoint, answer, request, body, record)
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
    return not_playable(state, endpoint, answer, "this path is no chat's: a reply expected", record)
  end
  return scripted_content(state, endpoint, answer, body, record)
end

local function answer_chat(state, endpoint, request, record)
  local refusal = endpoint.admit and endpoint.admit(request, record)
  if refusal then
    return refusal
  end
  local missing = endpoint.missing_key(request.headers, request.path)
  local body, problems, code = endpoint.check(request, false, state.issued)
  record.problems = problems
  if missing then
    problems[#problems + 1] = missing
    return error_response(endpoint, 401, { message = missing }, record)
  elseif #problems > 0 then
    return error_response(endpoint, 400, { message = table.concat(problems, "; "), code = code }, record)
  end
  local answer = next_answer(state, request.path, true) or state.echo and script.echo(body)
  if not answer then
    local message = ("the script is exhausted: it has %d answers, this is one request more"):format(#state.answers)
    return script_response(endpoint, message, record)
  end
  return play(state, endpoint, answer, request, body, record), answer.fault
end

-- Embeddings: made-up ones, unless the script has an answer.
local function answer_embeddings(state, dialect, endpoint, request, record)
  local missing = endpoint.missing_key(request.headers, request.path)
  local body, problems, texts = embeddings.check(dialect, request)
  record.problems = problems
  if missing then
    problems[#problems + 1] = missing
    return error_response(endpoint, 401, { message = missing }, record)
  elseif #problems > 0 then
    return error_response(endpoint, 400, { message = table.concat(problems, "; ") }, record)
  end
  local answer = next_answer(state, request.path, true)
  if answer and not answer.embeddings then
    return play(state, endpoint, answer, request, nil, record), answer.fault
  end
  local text, header = embeddings.answer(dialect, body, texts, request.path)
  local response = plain_response(200, text, endpoint.id_header(record.request_id), header)
  return add_headers(response, answer and answer.headers), answer and answer.fault
end

local function answer_count(state, endpoint, request, record)
  local missing = endpoint.missing_key(request.headers, request.path)
  local _, problems = endpoint.check(request, true, state.issued)
  record.problems = problems
  if missing then
    return error_response(endpoint, 401, { message = missing }, record)
  elseif #problems > 0 then
    return error_response(endpoint, 400, { message = table.concat(problems, "; ") }, record)
  end
  return plain_response(200, endpoint.count((#request.body + 3) // 4), endpoint.id_header(record.request_id))
end

local function answer_models(endpoint, request, record, id)
  local missing = endpoint.missing_key(request.headers, request.path)
  if missing then
    return error_response(endpoint, 401, { message = missing }, record)
  end
  local body, why
  if id then
    for _, known in ipairs(MODELS) do
      body = body or known == id and endpoint.model(id) or nil
    end
    if not body then
      return error_response(endpoint, 404, { message = "model: " .. id }, record)
    end
  else
    body, why = endpoint.models(MODELS, request.query)
    if not body then
      return error_response(endpoint, 400, { message = why }, record)
    end
  end
  return plain_response(200, body, endpoint.id_header(record.request_id))
end

--- What an endpoint answers beside its chats: nil when the path is none of those.
local function answer_beside(request, record)
  local action = request.method .. " " .. request.path
  local endpoint = BESIDE[action]
  if not endpoint then
    return nil
  end
  local missing = endpoint.missing_key(request.headers, request.path)
  if missing then
    return error_response(endpoint, 401, { message = missing }, record)
  end
  local status, body, kind = endpoint.beside[action](MODELS, request)
  return { status = status, headers = { kind and { "content-type", kind } or JSON }, pieces = { body } }
end

--- The endpoint whose form of answers a request expects, where its path is no chat's: the one that serves the path
-- beside its chats, or that knows the request by its headers or path.
local function endpoint_of(request)
  local beside = BESIDE[request.method .. " " .. request.path]
  if beside then
    return beside
  end
  for _, endpoint in pairs(endpoints) do
    if endpoint.knows and endpoint.knows(request.headers, request.path) then
      return endpoint
    end
  end
  return endpoints.chat
end

--- The answer to an unknown path: it names the path, and those that there are.
local function no_such_path(conn, request, record)
  local problem = ("%s %s%s: no such path (a wrong base_url?); there are %s"):format(request.method, conn:url() or "",
    request.path, paths.words(request.path))
  record.problems[#record.problems + 1] = problem
  return error_response(endpoint_of(request), 404, { message = problem }, record)
end

-- The answer to a request that is no chat, or nil: that of Copilot's login service, or the script's for the path.
local function scripted(state, request, record)
  local answer, login = next_answer(state, request.path, false), state.copilot
  if login then
    login:count(request)
    if not answer then
      local response, transport = login:answer(request, record)
      if response then
        return response, transport
      end
    end
  end
  if not answer and state.answers[state.next] and state.answers[state.next].replay then
    answer = next_answer(state, request.path, true)
  end
  if answer then
    return play(state, endpoint_of(request), answer, request, nil, record), answer.fault
  end
end

local function route(state, conn, request, record)
  local refusal = endpoints.bedrock.refuse_signature(request, record)
  if refusal then
    return refusal
  end
  local path, post, login = request.path, request.method == "POST", state.copilot
  local embeds, kind = embeddings.dialect(path, function(wire, prefix) return paths.serves(wire, prefix, state.own) end)
  if embeds and post then
    if login then
      login:count(request)
    end
    return answer_embeddings(state, embeds, endpoints[kind], request, record)
  end
  local chats, wire, counts = login and login:endpoint(request), nil, nil
  local others = not (login and copilot.holds(request)) -- a Copilot token is good for Copilot's own paths
  if others and not chats then
    wire, counts = paths.endpoint(path, state.own)
    chats = not counts and endpoints[wire] or nil
  end
  if chats and post then
    return answer_chat(state, chats, request, record)
  end
  local response, transport = scripted(state, request, record)
  if response then
    return response, transport
  elseif counts and post then
    return answer_count(state, endpoints[wire], request, record)
  end
  local beside = others and answer_beside(request, record)
  if beside then
    return beside
  elseif others and request.method == "GET" then
    local found, id = paths.models(path, state.own)
    if found then
      return answer_models(endpoint_of(request), request, record, id)
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
    local answers, err = json.decode(request.body)
    local problem = answers == nil and "not valid JSON: " .. tostring(err)
      or answers ~= "echo" and script.check(answers) or nil
    if problem then
      return plain_response(400, json.encode(json.object("error", problem)))
    end
    set_script(state, answers)
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
      conn:wait_for_earlier() -- a request whose caller did not wait for its answer is not one of the next script
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
