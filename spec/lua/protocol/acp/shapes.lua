-- What a served agent (koine.acp.serve) may write of the Agent Client Protocol, version 1: the members of its requests,
-- updates and results, their types, which are required, and the words that there are. Kinds that it never writes are
-- not here, so they fail. `make interop` judges by the protocol's own JSON schema.

local core = require "koine.core"
local types = require "spec.lua.protocol.acp.types"

local any, text, flag, number, count = types.any, types.text, types.flag, types.number, types.count
local blank, list, object, one_of = types.blank, types.list, types.object, types.one_of
local optional, word = types.optional, types.word

local shapes = {}

local none = object {}

-- Content ----------------------------------------------------------------------------------------------------------

local block = one_of("type", {
  text = { text = text },
  image = { data = text, mimeType = text, uri = blank(text) },
})

local chunk = { content = block, messageId = blank(text) }

-- Tool calls -------------------------------------------------------------------------------------------------------

local call_content = one_of("type", {
  content = { content = block },
  diff = { path = text, oldText = blank(text), newText = text },
  terminal = { terminalId = text },
})

local place = object { path = text, line = blank(count) }
local tool_kind = word("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other")
local call_status = word("pending", "in_progress", "completed", "failed")

local call = { toolCallId = text, title = text, name = blank(text), kind = optional(tool_kind),
  status = optional(call_status), content = optional(list(call_content)), locations = optional(list(place)),
  rawInput = optional(any), rawOutput = optional(any) }

local call_change = { toolCallId = text, title = blank(text), name = blank(text), kind = blank(tool_kind),
  status = blank(call_status), content = blank(list(call_content)), locations = blank(list(place)),
  rawInput = optional(any), rawOutput = optional(any) }

local choice = object { optionId = text, name = text,
  kind = word("allow_once", "allow_always", "reject_once", "reject_always") }

-- Modes and options ------------------------------------------------------------------------------------------------

local modes = object { currentModeId = text,
  availableModes = list(object { id = text, name = text, description = blank(text) }) }

local options = list(one_of("type", {
  select = { currentValue = text, options = list(object { value = text, name = text, description = blank(text) }) },
  boolean = { currentValue = flag },
}, { id = text, name = text, description = blank(text), category = blank(text) }))

local settings = { modes = blank(modes), configOptions = blank(options) }

-- What it writes ---------------------------------------------------------------------------------------------------

local update = one_of("sessionUpdate", {
  user_message_chunk = chunk,
  agent_message_chunk = chunk,
  agent_thought_chunk = chunk,
  tool_call = call,
  tool_call_update = call_change,
  current_mode_update = { currentModeId = text },
  config_option_update = { configOptions = options },
  session_info_update = { title = blank(text), updatedAt = blank(text) },
  usage_update = { used = count, size = count, cost = blank(object { amount = number, currency = text }) },
})

local terminal = object { sessionId = text, terminalId = text }

-- Of its requests and notifications.
local params = {
  ["session/update"] = object { sessionId = text, update = update },
  ["session/request_permission"] = object { sessionId = text, toolCall = object(call_change), options = list(choice) },
  ["fs/read_text_file"] = object { sessionId = text, path = text, line = blank(count), limit = blank(count) },
  ["fs/write_text_file"] = object { sessionId = text, path = text, content = text },
  ["terminal/create"] = object { sessionId = text, command = text, args = optional(list(text)), cwd = blank(text),
    env = optional(list(object { name = text, value = text })), outputByteLimit = blank(count) },
  ["terminal/output"] = terminal,
  ["terminal/wait_for_exit"] = terminal,
  ["terminal/kill"] = terminal,
  ["terminal/release"] = terminal,
  ["$/cancel_request"] = object { requestId = types.id },
}

local capabilities = object {
  loadSession = optional(flag),
  auth = optional(object { logout = blank(none) }),
  promptCapabilities = optional(object { image = optional(flag), audio = optional(flag),
    embeddedContext = optional(flag) }),
  mcpCapabilities = optional(object { http = optional(flag), sse = optional(flag) }),
  sessionCapabilities = optional(object { list = blank(none), resume = blank(none), close = blank(none),
    delete = blank(none), additionalDirectories = blank(none) }),
}

-- Of its answers.
local results = {
  initialize = object { protocolVersion = count, agentCapabilities = optional(capabilities),
    agentInfo = blank(object { name = text, title = blank(text), version = text }),
    authMethods = optional(list(object { id = text, name = text, description = blank(text) })) },
  authenticate = none,
  logout = none,
  ["session/new"] = object({ sessionId = text }, settings),
  ["session/load"] = object(settings),
  ["session/resume"] = object(settings),
  ["session/list"] = object { nextCursor = blank(text), sessions = list(object { sessionId = text, cwd = text,
    title = blank(text), updatedAt = blank(text), additionalDirectories = optional(list(text)) }) },
  ["session/close"] = none,
  ["session/delete"] = none,
  ["session/prompt"] = object { stopReason = word("end_turn", "max_tokens", "max_turn_requests", "refusal",
    "cancelled") },
  ["session/set_config_option"] = object { configOptions = options },
  ["session/set_mode"] = none,
}

local failure = object { code = types.integer, message = text, data = optional(any) }

--- Why a message of an agent (decoded) does not fit, in words; nil where it does. `method` is what an answer is to.
function shapes.problem(message, method)
  local of, value, path = results[method], message.result, "result"
  if message.method then of, value, path = params[message.method], message.params, "params" end
  if message.error then of, value, path = failure, message.error, "error" end
  if message.jsonrpc ~= "2.0" or not of then return "no such message: " .. core.encode(message) end
  local problem = of(value, path)
  return problem and ("%s: %s"):format(problem, core.encode(message))
end

return shapes
