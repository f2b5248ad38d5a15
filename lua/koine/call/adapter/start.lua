--- What an adapter does with a call's arguments until its first attempt is under way: the canonical request, whether
-- the chat may begin in one step (attempt/chat.lua), and the call.

local chat = require "koine.call.attempt.chat"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local options = require "koine.call.options"
local stream = require "koine.call.stream"

local start = {}

local NOTHING = {}

--- The canonical request (table) of a call: of the adapter's state and the call's settings. `messages`: a string or an
-- array, nil for none. Raises an ArgumentError for what can be no messages.
function start.request(state, messages, settings, streaming)
  local info, thinking = state.info, settings.thinking
  if thinking == nil and state.quirks.thinking_default then thinking = false end -- off unless asked for
  local values = thinking == false and require "koine.call.options.values"
  if values and values.knows_effort(settings, "none") then thinking = "none" end
  local request = { model = state.model, messages = messages and check.messages(messages), stream = streaming,
    thinking_mode = info.thinking, max_output = info.max_output }
  options.fill(request, settings)
  request.thinking = thinking
  for name in pairs(state.without or NOTHING) do request[name] = true end
  if state.auth and state.auth.amend then state.auth.amend(request, state) end
  return request
end

-- Room that the core leaves for the answer beside a thinking budget.
local ANSWER_ROOM = 4096

-- True when the provider gives a plain answer of this length.
local function may_be_plain(state, settings)
  local most = state.row.plain_max_tokens
  if not most then return true end
  local thinking, length = settings.thinking, settings.max_tokens or state.info.max_output or 0
  if type(thinking) == "table" then length = math.max(length, thinking.budget_tokens + ANSWER_ROOM) end
  return length <= most
end

-- The names of the tools whose calls may be read from text (quirk leaked_calls), nil for none.
local function recoverable(state, request)
  if not state.quirks.leaked_calls or request.tool_choice == "none" then return nil end
  local names = {}
  for _, tool in ipairs(request.tools or {}) do
    if tool.type == nil or tool.type == "function" then names[#names + 1] = tool.name end
  end
  return names[1] and names
end

-- Raises a NotImplementedError where the provider has no chats.
local function check_chats(state, method)
  if state.row.chat == false then errors.not_implemented(state.row.title, method, "it has embed") end
end

-- True when chats may begin in one step (chat.begin), as nobody is asked and nothing is changed in between. A function
-- for the key may wait, so it is asked after the request is rendered.
local function may_begin(state, settings)
  if state.rate_limiter or state.auth or state.quirks.leaked_calls or settings.keep_raw then return false end
  if type(settings.key) == "function" then return false end
  return require("koine.net.transport").is_direct(settings)
end

-- The same of calls without options of their own, found out once.
local function begins(state, settings)
  if settings ~= state.settings then return may_begin(state, settings) end
  if state.begins == nil then state.begins = may_begin(state, settings) end
  return state.begins
end

-- A call that may begin in one step. Those without options of their own share a request.
local function plain_call(self, state, messages, settings, streaming)
  local request = settings == state.settings and state.requests[streaming]
  if not request then
    request = start.request(state, nil, settings, streaming)
    if settings == state.settings then state.requests[streaming] = request end
  end
  return chat.new(self, state, settings, request, messages, streaming)
end

-- Checks, renders and starts a call: a stream, or nil, err. For one round of an answer with a shape: `amend` (nil:
-- none) is called with the canonical request before it is rendered, and may return the name of the tool that the answer
-- comes in; `deadline` (monotonic seconds, nil: none) is that of all rounds.
local function begin(self, state, messages, settings, streaming, amend, deadline)
  check_chats(state, "chat")
  streaming = streaming or not may_be_plain(state, settings)
  if type(messages) ~= "string" then check.messages(messages) end -- a string may go out as it is
  if not amend and begins(state, settings) then
    return stream.open(plain_call(self, state, messages, settings, streaming))
  end
  local request = start.request(state, messages, settings, streaming)
  local output_tool = amend and amend(request)
  local attempt = require "koine.call.attempt"
  local call = attempt.call(self, state, settings)
  call.request, call.ledger.deadline = request, deadline or call.ledger.deadline
  call.outgoing = { method = "POST", stream = streaming, request_messages = #request.messages,
    max_tokens = request.max_tokens, keep_raw = settings.keep_raw, output_tool = output_tool,
    body = nil, codec = nil, warnings = nil, framing = nil, url = nil, headers = nil, secrets = nil, timeouts = nil,
    limits = nil, proxy = nil } -- named, so that there is room for what each attempt sets
  attempt.render(call)
  call.outgoing.tool_names = recoverable(state, request)
  call.streaming = streaming
  return stream.open(call)
end

--- Checks, renders and starts a chat of the adapter `self` with these settings (call/options), which may ask for an
-- answer with a shape: a stream, or nil, err. `streaming`: whether its deltas are wanted. A further round of an answer
-- with a shape whose adapter was closed meanwhile is cancelled. Raises an ArgumentError for bad messages, a
-- NotImplementedError for what this provider cannot carry.
function start.open(self, state, messages, settings, streaming)
  if settings.output == nil then return begin(self, state, messages, settings, streaming) end
  local begun = false
  return require "koine.call.output"(state, messages, settings, function(list, amend, deadline)
    if begun and self:closed() then
      return nil, errors.new { kind = "cancelled", provider = state.row.name, message = "the adapter was closed" }
    end
    begun = true
    return begin(self, state, list, settings, streaming, amend, deadline)
  end)
end

return start
