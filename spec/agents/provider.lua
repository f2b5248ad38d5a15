-- provider.lua TOOL INPUT: a provider for agents of others, on the loopback interface. It has the wires of the loopback
-- provider without its checks, because agents send more than those know, and it answers by what a request says, because
-- agents ask in an order of their own. It prints its port, and then a line for each request.
--
-- A prompt has one of these words. Requests without tools (a title, which model to take) have one answer for all.
--   SAY-IT    the text "Hello there."
--   CALL-IT   the tool TOOL with the input INPUT (JSON), and "Done." once its result is there
--   WAIT-IT   a text that begins and never ends

local core = require "koine.core"
local fault = require "koine.testing.loopback.fault"
local http_server = require "koine.net.http_server"
local issued = require "koine.testing.loopback.issued"
local paths = require "koine.testing.loopback.paths"
local play = require "koine.testing.loopback.script.play"
local response = require "koine.testing.loopback.response"
local uv = require "luv"

-- Bytes of the text that never ends: more than the head of any wire's stream, where Codex sees its tools again.
local STALL = 60000
local RESULTS = { "\"tool_result\"", "\"function_call_output\"", "\"custom_tool_call_output\"", "\"functionResponse\"" }

-- To requests without tools. Gemini CLI asks which model to take until it gets such an object.
local OTHER = '{"reasoning": "none", "model_choice": "flash"}'

local tool, input = arg[1], arg[2]
local state = { issued = issued.new(paths.endpoints), script = { names = {} } }
local count = 0

-- Where a text has the last one of some words, and which it is; 0 for none.
local function last(text, words)
  local found, which = 0, nil
  for _, word in ipairs(words) do
    local at = text:match("^.*()" .. word:gsub("%p", "%%%0"))
    if at and at > found then found, which = at, word end
  end
  return found, which
end

-- The answer to the decoded body of a request.
local function answer(body)
  local history = core.encode(body.messages or body.input or body.contents)
  local at, word = last(history, { "SAY-IT", "CALL-IT", "WAIT-IT" })
  if not word or type(body.tools) ~= "table" or not body.tools[1] then return { content = OTHER } end
  if word == "SAY-IT" then return { content = "Hello there." } end
  if word == "WAIT-IT" then
    return { content = ("Still at it. "):rep(10000), fault = { stall_after = STALL } }
  end
  if last(history, RESULTS) > at then return { content = "Done." } end
  return { content = { { type = "tool_use", name = tool, arguments = core.decode(input) } } }
end

-- The response to a request, and its fault.
local function respond(request)
  local wire, counts = paths.endpoint(request.path, {})
  local endpoint = paths.endpoints[wire]
  local body = core.decode(request.body)
  if not endpoint or type(body) ~= "table" then
    return response.plain(request.method == "HEAD" and 200 or 404, "{}")
  elseif counts then
    return response.plain(200, endpoint.count(#request.body // 4))
  end
  body.stream = body.stream or request.path:find "stream" and true or false
  body.model = body.model or request.path:match "models/([^:]+)"
  print("model " .. tostring(body.model))
  local chosen = answer(body)
  return play(state, endpoint, chosen, request, body, { request_id = ("req_%024x"):format(count) }), chosen.fault
end

local function handler(conn, request)
  count = count + 1
  local ok, made, trouble = pcall(respond, request)
  if not ok then made, trouble = response.plain(500, core.encode { error = tostring(made) }), nil end
  print(request.method, request.path, made.status, ok and "" or made.pieces[1])
  return (fault.send(conn, request, made, trouble))
end

io.stdout:setvbuf "line"
print("port " .. http_server.listen(handler, 0))
uv.run()
