--- @copilotkit/aimock, one port for all wires, played with the answers of koine.testing as far as its fixtures go.
--
-- Its journal keeps requests as it understood them: in Chat's shape, whatever the wire, without what it does not model.

local cjson = require "cjson".new()
local core = require "koine.core"
local program = require "spec.interop.support.program"
local wait = require "koine.task.wait"

local aimock = {}

local methods = {}
local Server = { __index = methods, __name = "aimock" }

-- Canonical stop reasons in the fixtures' words; others go as they are.
local FINISH = { end_turn = "stop", tool_use = "tool_calls", max_tokens = "length", sensitive = "content_filter" }

-- The fields that an answer may have; anything else is beyond its fixtures.
local KNOWN = { content = true, stop_reason = true, usage = true, model = true, id = true, chunk = true, error = true,
  cut_after = true }

local function beyond(what) error("aimock has no fixture for " .. what, 0) end

-- Content as a fixture's response.
local function response_of(content)
  if type(content) == "string" then return { content = content } end
  local response, blocks, redacted = {}, {}, {}
  for _, block in ipairs(content) do
    if block.type == "text" then
      blocks[#blocks + 1] = { type = "text", text = block.text }
    elseif block.type == "tool_use" then
      blocks[#blocks + 1] = { type = "toolCall", id = block.id, name = block.name,
        arguments = block.arguments_json or core.encode(block.arguments) }
    elseif block.type == "thinking" then
      response.reasoning, response.reasoningSignature = block.thinking, block.signature
    elseif block.type == "redacted_thinking" then
      redacted[#redacted + 1] = block.data
    else
      beyond("a block of type " .. block.type)
    end
  end
  response.blocks = blocks
  response.redactedThinking = #redacted > 0 and redacted or nil
  return response
end

-- One answer of koine.testing as one fixture, played for the i-th request. `cut_after` is the number of events after
-- which it breaks the connection; it waits between them then, since Node throws away what it has not sent yet.
local function fixture(answer, i)
  for field in pairs(answer) do
    if not KNOWN[field] then beyond("an answer's " .. field) end
  end
  local response
  if answer.error then
    local given = answer.error
    if given.body then beyond "raw bodies" end
    local after = (given.headers or {})["retry-after"]
    response = { status = given.status, retryAfter = after and tonumber(after),
      error = { message = given.message or "no words", type = given.type, code = given.code } }
  else
    local usage = answer.usage
    response = response_of(answer.content)
    response.id, response.model = answer.id, answer.model
    response.finishReason = FINISH[answer.stop_reason] or answer.stop_reason
    response.usage = usage and { input_tokens = usage.input_tokens, output_tokens = usage.output_tokens,
      prompt_tokens = usage.input_tokens, completion_tokens = usage.output_tokens }
  end
  return { match = { sequenceIndex = i - 1 }, response = response, chunkSize = answer.chunk,
    truncateAfterChunks = answer.cut_after, latency = answer.cut_after and 1 }
end

--- Starts it, from the folder with its node_modules.
function aimock.start(modules)
  local folder = program.folder()
  program.write(folder .. "/first.json", '{"fixtures":[{"match":{"userMessage":"?"},"response":{"content":"?"}}]}')
  local command = ("node %s --port 0 --strict --fixtures first.json")
    :format(program.quote(modules .. "/@copilotkit/aimock/dist/cli.js"))
  local running = program.start(folder, command, function(log) return log:match "listening on (http://%S+)" end)
  return setmetatable({ program = running, url = running.answer }, Server)
end

-- One request to its control interface: the decoded answer. Raises what goes wrong.
local function control(server, method, path, body)
  local request = assert(core.request(core.engine(), { method = method, url = server.url .. "/__aimock" .. path,
    body = body, headers = { ["content-type"] = "application/json" }, timeouts = { total = 60 } }))
  local answer, err
  repeat
    answer, err = request:poll()
    if answer == false then wait.park(request) end
  until answer or err
  request:close()
  assert(answer, err)
  assert(answer.status == 200, answer.body)
  return core.decode(answer.body)
end

--- Forgets all and plays these answers, in order. Raises when an answer is beyond what its fixtures can say.
function methods:script(answers)
  control(self, "POST", "/reset", "")
  if #answers == 0 then return end
  local fixtures = {}
  for i, answer in ipairs(answers) do fixtures[i] = fixture(answer, i) end
  control(self, "POST", "/fixtures", cjson.encode { fixtures = fixtures })
end

--- The requests since then, oldest first: {path, status, headers, body = text in Chat's shape}.
function methods:requests()
  local list = {}
  for i, entry in ipairs(control(self, "GET", "/journal")) do
    list[i] = { path = entry.path, status = entry.response.status, headers = entry.headers,
      body = core.encode(entry.body) }
  end
  return list
end

--- Ends it.
function methods:stop()
  self.program:stop()
  os.execute("rm -rf " .. program.quote(self.program.folder))
end

return aimock
