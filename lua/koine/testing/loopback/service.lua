--- The answers of the loopback provider: the control paths under /__koine, the endpoints, scripted plain paths. Holds
-- the state of one server: the script, the log of requests, what was handed out.

local copilot = require "koine.testing.loopback.copilot"
local embeddings = require "koine.testing.loopback.embeddings"
local fault = require "koine.testing.loopback.fault"
local issued = require "koine.testing.loopback.issued"
local json = require "koine.testing.loopback.json"
local paths = require "koine.testing.loopback.paths"
local answers = require "koine.testing.loopback.script.answers"
local play = require "koine.testing.loopback.script.play"
local queue = require "koine.testing.loopback.script.queue"
local response = require "koine.testing.loopback.response"

local service = {}

local endpoints = paths.endpoints

-- The paths served beside chats: "METHOD PATH" → its endpoint.
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

local function reset(state)
  state.log, state.issued, state.requests, state.script = {}, issued.new(endpoints), 0, queue.new {}
  if state.copilot then
    state.copilot:reset()
  end
end

-- The response that a script's answer gives, and the fault to lay over it: its own, or that of the recording.
local function played(state, endpoint, answer, request, body, record)
  local made = play(state, endpoint, answer, request, body, record)
  return made, answer.fault or made.fault
end

local function answer_chat(state, endpoint, request, record)
  local refusal = endpoint.refusal and endpoint.refusal(request, record)
  if refusal then
    return refusal
  end
  local missing = endpoint.missing_key(request.headers, request.path)
  local body, problems, code = endpoint.check(request, false, state.issued)
  record.problems = problems
  if missing then
    problems[#problems + 1] = missing
    return response.error(endpoint, 401, { message = missing }, record)
  elseif #problems > 0 then
    return response.error(endpoint, 400, { message = table.concat(problems, "; "), code = code }, record)
  end
  local answer = state.script:take(request.path, true)
  if not answer then
    local count = state.script.count
    local message = ("the script is exhausted: it has %d answer%s, this is one request more"):format(count,
      count == 1 and "" or "s")
    return response.script_error(endpoint, message, record)
  end
  return played(state, endpoint, answer, request, body, record)
end

-- Embeddings: made-up ones, unless the script has an answer; for an echo, too.
local function answer_embeddings(state, dialect, endpoint, request, record)
  local missing = endpoint.missing_key(request.headers, request.path)
  local body, problems, texts = embeddings.check(dialect, request)
  record.problems = problems
  if missing then
    problems[#problems + 1] = missing
    return response.error(endpoint, 401, { message = missing }, record)
  elseif #problems > 0 then
    return response.error(endpoint, 400, { message = table.concat(problems, "; ") }, record)
  end
  local answer = state.script:take(request.path, true)
  if answer and not (answer.embeddings or answer.echo) then
    return played(state, endpoint, answer, request, nil, record)
  end
  local text, header = embeddings.answer(dialect, body, texts, request.path)
  local made = response.plain(200, text, endpoint.id_header(record.request_id), header)
  return response.add_headers(made, answer and answer.headers), answer and answer.fault
end

local function answer_count(state, endpoint, request, record)
  local missing = endpoint.missing_key(request.headers, request.path)
  local _, problems = endpoint.check(request, true, state.issued)
  record.problems = problems
  if missing then
    return response.error(endpoint, 401, { message = missing }, record)
  elseif #problems > 0 then
    return response.error(endpoint, 400, { message = table.concat(problems, "; ") }, record)
  end
  return response.plain(200, endpoint.count((#request.body + 3) // 4), endpoint.id_header(record.request_id))
end

local function answer_models(endpoint, request, record, id)
  local missing = endpoint.missing_key(request.headers, request.path)
  if missing then
    return response.error(endpoint, 401, { message = missing }, record)
  end
  local body, why
  if id then
    for _, known in ipairs(MODELS) do
      body = body or known == id and endpoint.model(id) or nil
    end
    if not body then
      return response.error(endpoint, 404, { message = "model: " .. id }, record)
    end
  else
    body, why = endpoint.models(MODELS, request.query)
    if not body then
      return response.error(endpoint, 400, { message = why }, record)
    end
  end
  return response.plain(200, body, endpoint.id_header(record.request_id))
end

--- The answer of an endpoint beside its chats: nil when the path is none of those.
local function answer_beside(request, record)
  local action = request.method .. " " .. request.path
  local endpoint = BESIDE[action]
  if not endpoint then
    return nil
  end
  local missing = endpoint.missing_key(request.headers, request.path)
  if missing then
    return response.error(endpoint, 401, { message = missing }, record)
  end
  local status, body, kind = endpoint.beside[action](MODELS, request)
  return { status = status, headers = { kind and { "content-type", kind } or response.JSON }, pieces = { body } }
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
  return response.error(endpoint_of(request), 404, { message = problem }, record)
end

-- The answer to a request that is no chat, or nil: that of Copilot's login service, or the script's for the path.
local function scripted(state, request, record)
  local answer, login = state.script:take(request.path, false), state.copilot
  if login then
    login:count(request)
    if not answer then
      local made, transport = login:answer(request, record)
      if made then
        return made, transport
      end
    end
  end
  if not answer and (state.script:peek() or {}).replay then
    answer = state.script:take(request.path, true)
  end
  if answer then
    return played(state, endpoint_of(request), answer, request, nil, record)
  end
end

-- Finds the endpoints of a path: that of its chats, or nil, and the one whose counts it asks for, or nil. `others`:
-- whether it may be of another service than Copilot.
local function find_endpoints(state, request, others)
  local chats = state.copilot and state.copilot:endpoint(request)
  if chats or not others then
    return chats, nil
  end
  local wire, counts = paths.endpoint(request.path, state.script.own)
  if counts then
    return nil, endpoints[wire]
  end
  return endpoints[wire], nil
end

-- The answer to a request for models, or for what else an endpoint serves beside its chats; nil when it is none.
local function answer_others(state, request, record)
  local made = answer_beside(request, record)
  if made or request.method ~= "GET" then
    return made
  end
  local found, id = paths.models(request.path, state.script.own)
  return found and answer_models(endpoint_of(request), request, record, id) or nil
end

local function route(state, conn, request, record)
  local refusal = endpoints.bedrock.refuse_signature(request, record)
  if refusal then
    return refusal
  end
  local is_post = request.method == "POST"
  local embeds, kind = embeddings.dialect(request.path, function(wire, prefix)
    return paths.serves(wire, prefix, state.script.own)
  end)
  if embeds and is_post then
    if state.copilot then
      state.copilot:count(request)
    end
    return answer_embeddings(state, embeds, endpoints[kind], request, record)
  end
  local others = not (state.copilot and copilot.holds(request)) -- a Copilot token is good for Copilot's own paths
  local chats, counts = find_endpoints(state, request, others)
  if chats and is_post then
    return answer_chat(state, chats, request, record)
  end
  local made, transport = scripted(state, request, record)
  if made then
    return made, transport
  elseif counts and is_post then
    return answer_count(state, counts, request, record)
  end
  made = others and answer_others(state, request, record)
  if made then
    return made
  elseif chats then
    return response.error(chats, 405, { message = "POST expected" }, record)
  end
  return no_such_path(conn, request, record)
end

-- The answer to settings that came as JSON: what is wrong with them, or an empty object once apply(settings) took them.
local function configure(request, problem_of, apply)
  local settings, err = json.decode(request.body)
  local problem
  if settings == nil then
    problem = "not valid JSON: " .. tostring(err)
  else
    problem = problem_of(settings)
  end
  if problem then
    return response.plain(400, json.encode(json.object("error", problem)))
  end
  apply(settings)
  return response.plain(200, "{}")
end

-- "METHOD PATH" below /__koine → function(state, request) → response, or nil when there is no such thing now.
local CONTROL = {
  ["GET requests"] = function(state) return response.plain(200, json.encode(json.array(state.log))) end,
  ["POST reset"] = function(state)
    reset(state)
    return response.plain(200, "{}")
  end,
  ["POST copilot"] = function(state, request)
    return configure(request, copilot.check, function(settings)
      state.copilot = state.copilot or copilot.new()
      state.copilot:configure(settings)
    end)
  end,
  ["GET copilot"] = function(state)
    return state.copilot and response.plain(200, json.encode(state.copilot:counters()))
  end,
  ["POST script"] = function(state, request)
    local function problem_of(given) return given ~= "echo" and answers.check(given) or nil end
    return configure(request, problem_of, function(given) state.script = queue.new(given) end)
  end,
}

local NO_CONTROL = "GET /__koine/requests, POST /__koine/script, POST /__koine/reset, or, where settings for Copilot "
  .. "were given, GET /__koine/copilot expected"

local function control(state, request)
  local action = CONTROL[request.method .. " " .. request.path:sub(#"/__koine/" + 1)]
  return action and action(state, request) or response.plain(404, json.encode(json.object("error", NO_CONTROL)))
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
    local made, transport = route(state, conn, request, record)
    json.array(record.problems)
    record.status = made.status
    local keep, closed_after = fault.send(conn, request, made, transport)
    record.closed_after = closed_after
    return keep
  end
end

return service
