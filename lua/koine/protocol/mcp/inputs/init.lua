--- What a server asks of its client: a person's input, a model's answer, a list of directories. Until 2025-11-25 these
-- are requests of the server (`handlers`); from 2026-07-28 on they stand in a result (`respond`). The answers are the
-- same. A client declares what it was given, and nothing else.
--
--   local asked = inputs.new { server = "files", on_elicit = ask_person, sampling = adapter }
--   local peer = rpc.new(wire, { requests = asked:handlers() })

local check = require "koine.data.check"
local elicit = require "koine.protocol.mcp.inputs.elicit"
local errors = require "koine.data.errors"
local roots = require "koine.protocol.mcp.inputs.roots"
local sampling = require "koine.protocol.mcp.inputs.sampling"
local text = require "koine.data.text"

local inputs = {}

local REQUESTS_MAX = 100 -- of one result
local NAME_MAX = 100     -- bytes of a method or key in an error
local SAMPLING_MAX_TOKENS, SAMPLING_CALLS, SAMPLING_TOKENS = 8192, 100, 1000000

--- The options of `new` besides `server` and `warn`, as checkers, so that others can take them among their own.
inputs.options = {
  on_elicit = check.func,
  sampling = check.either("adapter or function(request)", check.func, check.adapter),
  sampling_tools = check.boolean,
  sampling_max_tokens = check.default(check.integer(1), SAMPLING_MAX_TOKENS),
  sampling_calls = check.default(check.integer(1), SAMPLING_CALLS),
  sampling_tokens = check.default(check.integer(1), SAMPLING_TOKENS),
  approve_sampling = check.func,
  roots = roots.check,
}

local OPTIONS = { server = check.default(check.string, "the server"), warn = check.func }
for name, checker in next, inputs.options do OPTIONS[name] = checker end
OPTIONS = check.options(OPTIONS)

local methods = {}
local metatable = { __index = methods, __name = "koine.mcp.inputs" }

-- By method: function(params) → the answer; or nil, err, and {code, message} for the server.
local function answers_of(options)
  local answers = {}
  if options.on_elicit then
    answers["elicitation/create"] = function(params) return elicit(params, options.on_elicit, options.server) end
  end
  if options.sampling then
    local model = sampling { source = options.sampling, approve = options.approve_sampling, server = options.server,
      allows_tools = options.sampling_tools == true, max_tokens = options.sampling_max_tokens,
      calls_max = options.sampling_calls, tokens_max = options.sampling_tokens }
    answers["sampling/createMessage"] = function(params) return model:answer(params) end
  end
  if options.roots then
    answers["roots/list"] = function() return roots.answer(options.roots) end
  end
  return answers
end

--- The capabilities to declare: a new table, empty where no handler was given.
function methods:capabilities()
  local options, declared = self.options, {}
  if options.on_elicit then declared.elicitation = { form = {}, url = {} } end
  if options.sampling then declared.sampling = { tools = options.sampling_tools and {} or nil } end
  if options.roots then declared.roots = {} end
  return declared
end

--- Handlers for requests of the server, as koine.protocol.rpc takes them: a new table {method = function(params) →
-- result, or nil, {code, message}}. What was not given has none.
function methods:handlers()
  local handlers = {}
  for method, answer in next, self.answers do
    handlers[method] = function(params)
      local result, err, said = answer(params)
      if result then return result end
      if self.options.warn then self.options.warn { code = "input_failed", field = method, message = err.message } end
      return nil, said
    end
  end
  return handlers
end

local function malformed(words)
  return nil, errors.new { kind = "protocol", retryable = false, message = "a malformed input request: " .. words }
end

local function shown(name) return (text.cut(tostring(name), NAME_MAX)) end

-- The names of the requests, sorted; or nil, err.
local function names_of(requests)
  if type(requests) ~= "table" or #requests > 0 then return malformed "inputRequests is no object" end
  local names = check.names(requests)
  if #names <= REQUESTS_MAX then return names end
  return nil, errors.new { kind = "limit", retryable = false,
    message = ("%d input requests in one result, at most %d"):format(#names, REQUESTS_MAX) }
end

--- Answers the input requests of a result, one after the other in the order of their keys: a new table of the answers
-- by the same keys. Or nil, err, at the first one that has no answer: of kind protocol (malformed, or not declared),
-- limit (too many, or a bound of sampling), invalid_request (with `field`: on_elicit's answer does not fit), other
-- (refused; a function of the user's raised), or that of the adapter.
function methods:respond(requests)
  local names, err = names_of(requests)
  if not names then return nil, err end
  local responses = {}
  for _, name in ipairs(names) do
    local request = requests[name]
    if type(request) ~= "table" or type(request.method) ~= "string" then return malformed(shown(name)) end
    local answer = self.answers[request.method]
    if not answer then
      return nil, errors.new { kind = "protocol", code = "-32601", retryable = false,
        message = "the server sent a request that this client does not offer: " .. shown(request.method) }
    end
    responses[name], err = answer(request.params)
    if not responses[name] then return nil, err end
  end
  return responses
end

--- The inputs of one connection. Options, none of them required:
--   server               the server's name, which on_elicit and approve_sampling are told
--   on_elicit            function(request) → {action = "accept" | "decline" | "cancel", content = table}, or nil:
--                        cancelled. request is {server, mode = "form", message, schema}, where defaults of the schema
--                        fill what content leaves out, or {server, mode = "url", message, url, id}
--   sampling             an adapter, or function(request) → a text, a Response or a table like one; or nil, err
--   sampling_tools       true: a server may give tools
--   sampling_max_tokens  the most tokens that a server may ask for in one call, 8192
--   sampling_calls       calls of this connection, 100; sampling_tokens  tokens that go in and out, 1000000
--   approve_sampling     function(request) → true: the call is made. request has server, messages, max_tokens, and
--                        if the server gave them system, temperature, stop_sequences, tools, tool_choice, preferences
--   roots                array of {uri = "file://…", name = nil | string}
--   warn                 function({code = "input_failed", field = method, message}): a request of the server failed
-- Raises an ArgumentError.
function inputs.new(opts)
  local options = OPTIONS(opts or {})
  return setmetatable({ options = options, answers = answers_of(options) }, metatable)
end

return inputs
