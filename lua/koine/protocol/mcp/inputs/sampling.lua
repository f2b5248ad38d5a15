--- Sampling: the server asks a model through us, and the user pays. So a call is approved first, its tokens are capped,
-- and calls and tokens of a connection are bounded.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local failure = require "koine.protocol.mcp.inputs.failure"
local messages = require "koine.protocol.mcp.inputs.messages"
local records = require "koine.data.records"

local METHOD = "sampling/createMessage"
local CHOICES = { auto = "auto", required = "any", none = "none" }

local methods = {}
local metatable = { __index = methods }

local function present(value)
  if value ~= core.null then return value end
end

-- The tools and the choice of a request, or nil, and what is wrong with them.
local function read_tools(request, params, are_allowed)
  local tools, choice = present(params.tools), present(params.toolChoice)
  if tools == nil and choice == nil then return true end
  if not are_allowed then return nil, "tools: this client did not declare sampling.tools" end
  local problem
  if tools ~= nil then
    request.tools, problem = messages.tools(tools)
    if not request.tools then return nil, problem end
  end
  if choice == nil then return true end
  local mode = type(choice) == "table" and (present(choice.mode) or "auto")
  request.tool_choice = CHOICES[mode]
  if not request.tool_choice then return nil, 'toolChoice.mode: "auto", "required" or "none" expected' end
  return true
end

-- The stop sequences that models take: none stops at white space alone. Or nil, and what is wrong.
local function read_stops(given)
  if not check.is_list(given) then return nil, "stopSequences: array of strings expected" end
  local kept = core.array {}
  for _, stop in ipairs(given) do
    if type(stop) ~= "string" then return nil, "stopSequences: array of strings expected" end
    if stop:find "%S" then kept[#kept + 1] = stop end
  end
  return kept
end

-- The request as approve_sampling and a function of the user's get it; or nil, and what is wrong.
local function read(self, params)
  local wished = math.type(params.maxTokens) and math.tointeger(params.maxTokens)
  if not wished or wished < 1 then return nil, "maxTokens: integer, 1 or more expected" end
  local request = { server = self.server, max_tokens = math.min(wished, self.max_tokens),
    preferences = present(params.modelPreferences) }
  local problem
  request.messages, problem = messages.read(params.messages)
  if not request.messages then return nil, problem end
  request.system, request.temperature = present(params.systemPrompt), present(params.temperature)
  if present(params.stopSequences) ~= nil then
    request.stop_sequences, problem = read_stops(params.stopSequences)
    if not request.stop_sequences then return nil, problem end
  end
  local ok, words = read_tools(request, params, self.allows_tools)
  if not ok then return nil, words end
  return request
end

-- Whether the user lets a request pass: true; or nil, err, said.
local function approve(self, request)
  if not self.approve then return true end
  local ok, answer = pcall(self.approve, request)
  if ok and answer == true then return true end
  if ok then return failure.refused(METHOD) end
  if check.is_memory(answer) then error(answer, 0) end
  return failure.raised("approve_sampling", answer)
end

-- What a call may cost: its maximum is counted until its usage is known, so that calls at the same time stay below the
-- bound together. True; or nil, err, said.
local function reserve(self, request)
  local left = self.tokens_max - self.tokens
  if self.calls >= self.calls_max or left < 1 then
    local bound = left < 1 and self.tokens_max .. " tokens" or self.calls_max .. " calls"
    return failure.used_up(METHOD, ("the bound of %s for this connection is reached"):format(bound))
  end
  request.max_tokens = math.min(request.max_tokens, left)
  self.calls, self.tokens = self.calls + 1, self.tokens + request.max_tokens
  return true
end

local function settle(self, reserved, usage)
  local input, output = usage and usage.input_tokens, usage and usage.output_tokens
  if input and output then self.tokens = self.tokens - reserved + input + output end
end

-- What a function of the user's answered, when it is like a Response; or nil, err, said.
local function check_answer(answer)
  local kind = type(answer)
  local content = (kind == "table" or kind == "userdata") and answer.content
  if type(content) == "string" then return answer end
  local _, err = errors.try(records.check_message, { role = "assistant", content = content or nil }, "answer")
  if not err then return answer end
  return failure.unfit("sampling", err.field, err.expected, content)
end

-- The model's answer: a Response or a table like one; or nil, err, said.
local function ask(self, request)
  if type(self.source) ~= "function" then
    local response, err = errors.try(self.source.chat, self.source, request.messages, { system = request.system,
      max_tokens = request.max_tokens, temperature = request.temperature, stop_sequences = request.stop_sequences,
      tools = request.tools, tool_choice = request.tools and request.tool_choice })
    if response then return response end
    if errors.is_error(err) and err.kind == "argument" then return failure.invalid(METHOD, errors.words(err)) end
    return failure.kept(err)
  end
  local ok, answer, err = pcall(self.source, request)
  if not ok then
    if check.is_memory(answer) then error(answer, 0) end
    return failure.raised("sampling", answer)
  end
  if type(answer) == "string" then return { content = answer, stop_reason = "end_turn" } end
  if answer ~= nil then return check_answer(answer) end
  if errors.is_error(err) then return failure.kept(err) end
  return failure.kept(errors.new { kind = "other", retryable = false,
    message = "sampling gave no answer" .. (err and ": " .. tostring(err) or "") })
end

--- Answers a server's `sampling/createMessage`: {role, content, model, stopReason}; or nil, the error, and what the
-- server is told.
function methods:answer(params)
  if type(params) ~= "table" then return failure.invalid(METHOD, "params: object expected") end
  local request, problem = read(self, params)
  if not request then return failure.invalid(METHOD, problem) end
  local ok, err, said = approve(self, request)
  if ok then ok, err, said = reserve(self, request) end
  if not ok then return nil, err, said end
  local reserved = request.max_tokens
  local response
  response, err, said = ask(self, request)
  if not response then return nil, err, said end
  settle(self, reserved, response.usage)
  local answer, why = messages.write(response, request.tools)
  if answer then return answer end
  return failure.kept(errors.new { kind = "protocol", retryable = false, message = METHOD .. ": " .. why })
end

--- Sampling of one connection: {source = adapter or function(request), approve = nil | function(request),
-- allows_tools = boolean, max_tokens, calls_max, tokens_max = integers, server = name}.
return function(options)
  options.calls, options.tokens = 0, 0
  return setmetatable(options, metatable)
end
