--- The names that OpenTelemetry's semantic conventions for generative AI and MCP have for what records say: names and
-- kinds of spans, attributes, providers. What the conventions have no name for is called koine.*.

local content = require "koine.observe.otlp.content"
local core = require "koine.core"
local providers = require "koine.provider"
local value = require "koine.observe.otlp.value"

local attributes = {}

local INTERNAL, CLIENT = 1, 3 -- kinds of spans as OTLP numbers them

-- By type of record: the operation, the field that follows it in the span's name, the kind.
local OPERATIONS = {
  chat = { "chat", "model", CLIENT },
  embed = { "embeddings", "model", CLIENT },
  agent = { "invoke_agent", "name", INTERNAL },
  prompt = { "invoke_agent", "agent", CLIENT },
  tool = { "execute_tool", "name", INTERNAL },
  turn = { "invoke_workflow", "mode", INTERNAL },
  session = { "invoke_workflow", "role", INTERNAL },
}

local function joined(first, second)
  return type(second) == "string" and second ~= "" and first .. " " .. second or first
end

--- The name and the kind of the span that a record of a start begins, and its operation (nil: none).
function attributes.span(start)
  if start.type == "attempt" then return "POST", CLIENT end
  if start.type == "mcp" then
    local method = tostring(start.method)
    return joined(method, start.target), CLIENT, method == "tools/call" and "execute_tool" or nil
  end
  local found = OPERATIONS[start.type]
  if not found then return tostring(start.type), INTERNAL end
  return joined(found[1], start[found[2]]), found[3], found[1]
end

--- The tokens of the input, with cached ones, which ours leave out and the conventions count in; nil where they are not
-- known.
function attributes.input_tokens(usage)
  local input = usage.input_tokens
  return input and input + (usage.cache_read_tokens or 0) + (usage.cache_creation_tokens or 0)
end

local function add_usage(to, usage)
  if type(usage) ~= "table" then return end
  value.add(to, "gen_ai.usage.input_tokens", attributes.input_tokens(usage))
  value.add(to, "gen_ai.usage.output_tokens", usage.output_tokens)
  value.add(to, "gen_ai.usage.cache_read.input_tokens", usage.cache_read_tokens)
  value.add(to, "gen_ai.usage.cache_creation.input_tokens", usage.cache_creation_tokens)
  value.add(to, "gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens)
end

local function add_server(to, server)
  if type(server) ~= "table" then return end
  value.add(to, "server.address", server.address)
  value.add(to, "server.port", server.port)
end

local function add_model(to, start)
  value.add(to, "gen_ai.provider.name", start.provider and providers.telemetry(start.provider))
  value.add(to, "gen_ai.request.model", start.model)
  add_server(to, start.server)
end

local function add_costs(to, finish)
  value.add(to, "koine.cost.usd", finish.cost)
  value.add(to, "koine.attempts", finish.attempts)
  value.add(to, "koine.warnings", finish.warnings and finish.warnings[1] and finish.warnings or nil)
end

local function add_request(to, start)
  for _, name in ipairs { "max_tokens", "temperature", "top_p", "stop_sequences" } do
    value.add(to, "gen_ai.request." .. name, start[name])
  end
  value.add(to, "gen_ai.request.stream", start.stream or nil)
  value.add(to, "gen_ai.conversation.id", start.conversation)
end

local function add_chat_content(to, start, finish)
  local asked, said = start.content or {}, finish.content or {}
  value.add(to, "gen_ai.system_instructions", content.system(asked.system))
  value.add(to, "gen_ai.input.messages", content.input(asked.messages))
  value.add(to, "gen_ai.tool.definitions", content.text(asked.tools))
  value.add(to, "gen_ai.output.messages", content.output(said.blocks, finish.raw_stop_reason or finish.stop_reason))
end

local function add_transport(to, start)
  value.add(to, "network.transport", start.transport == "stdio" and "pipe" or start.transport and "tcp")
end

local function add_mcp(to, start, finish)
  value.add(to, "mcp.method.name", start.method)
  value.add(to, "mcp.protocol.version", start.version)
  value.add(to, "jsonrpc.request.id", start.request_id and tostring(start.request_id))
  value.add(to, "rpc.response.status_code", finish.error_code and tostring(finish.error_code))
  add_transport(to, start)
end

-- By type of record: adds what its start and its end (an empty table: none came) say.
local ADD = {}

function ADD.chat(to, start, finish)
  add_model(to, start)
  add_request(to, start)
  value.add(to, "gen_ai.response.model", finish.response_model)
  value.add(to, "gen_ai.response.id", finish.response_id)
  value.add(to, "gen_ai.response.finish_reasons", finish.raw_stop_reason and core.array { finish.raw_stop_reason })
  value.add(to, "gen_ai.response.time_to_first_chunk", finish.first_delta)
  add_usage(to, finish.usage)
  add_chat_content(to, start, finish)
  add_costs(to, finish)
end

function ADD.embed(to, start, finish)
  add_model(to, start)
  value.add(to, "gen_ai.embeddings.dimension.count", finish.dimensions or start.dimensions)
  add_usage(to, finish.usage)
  add_costs(to, finish)
end

function ADD.agent(to, start, finish)
  value.add(to, "gen_ai.agent.name", start.name)
  value.add(to, "koine.status", finish.status)
  value.add(to, "koine.reason", finish.reason)
  value.add(to, "koine.steps", finish.steps)
  add_usage(to, finish.usage)
  add_costs(to, finish)
end

function ADD.prompt(to, start, finish)
  value.add(to, "gen_ai.agent.name", start.agent)
  value.add(to, "gen_ai.conversation.id", start.session)
  value.add(to, "gen_ai.response.finish_reasons", finish.stop_reason and core.array { finish.stop_reason })
end

function ADD.tool(to, start, finish)
  value.add(to, "gen_ai.tool.name", start.name)
  value.add(to, "gen_ai.tool.call.id", start.call_id)
  value.add(to, "gen_ai.tool.type", "function")
  value.add(to, "gen_ai.tool.description", start.description)
  value.add(to, "gen_ai.tool.call.arguments", content.text((start.content or {}).arguments))
  value.add(to, "gen_ai.tool.call.result", content.text((finish.content or {}).result))
  value.add(to, "koine.tool.blocked", finish.blocked or nil)
end

function ADD.session(to, start, finish)
  value.add(to, "gen_ai.workflow.name", start.role)
  value.add(to, "gen_ai.request.model", start.model)
  value.add(to, "koine.outcome", finish.outcome)
  add_usage(to, finish.usage)
  add_costs(to, finish)
end

function ADD.turn(to, start, finish)
  value.add(to, "gen_ai.workflow.name", start.mode)
  value.add(to, "gen_ai.conversation.id", start.session)
  value.add(to, "koine.outcome", finish.outcome)
end

function ADD.attempt(to, start, finish)
  value.add(to, "http.request.method", "POST")
  value.add(to, "url.full", start.url)
  value.add(to, "http.request.resend_count", start.number and start.number > 1 and start.number - 1 or nil)
  value.add(to, "http.response.status_code", finish.status_code)
end

ADD.mcp = add_mcp

-- What kept the work from its end as it should be: the attribute error.type, and words; nil, nil where nothing did.
local function fault_of(start, finish)
  local err = finish.error
  if start.type == "mcp" and finish.error_code then return tostring(finish.error_code), err and err.message end
  if err then return err.kind or err.class or "_OTHER", err.message end
  if finish.is_error and not finish.blocked then return "tool_error" end
end

-- Adds the observer's own attributes, but for those that are there already.
local function add_own(to, own)
  local taken = {}
  for _, one in ipairs(to) do taken[one.key] = true end
  for _, one in ipairs(own and value.attributes(own) or {}) do
    if not taken[one.key] then to[#to + 1] = one end
  end
end

--- The attributes of a span, an array of {key, value}, and its status {code, message}. `finish` is the record of its
-- end, an empty table where none came; `mcp` the records {start, finish} of the call of an MCP server's tool that the
-- span's tool is, nil for none.
function attributes.of(start, finish, mcp)
  local to = core.array {}
  local _, _, operation = attributes.span(start)
  value.add(to, "gen_ai.operation.name", operation)
  local add_all = ADD[start.type]
  if add_all then add_all(to, start, finish) end
  if mcp then add_mcp(to, mcp.start, mcp.finish) end
  local fault, words = fault_of(start, finish)
  value.add(to, "error.type", fault)
  add_own(to, start.attributes)
  return to, { code = fault and 2 or 0, message = words }
end

-- By type of record: adds what tells the points of its metrics apart. Nothing of which there may be any number.
local POINT = {}

function POINT.chat(to, start, finish)
  local _, _, operation = attributes.span(start)
  value.add(to, "gen_ai.operation.name", operation)
  add_model(to, start)
  value.add(to, "gen_ai.response.model", finish.response_model)
end

POINT.embed = POINT.chat

function POINT.agent(to, start) value.add(to, "gen_ai.agent.name", start.name or start.agent) end

POINT.prompt = POINT.agent

function POINT.tool(to, start)
  value.add(to, "gen_ai.tool.name", start.name)
  value.add(to, "gen_ai.tool.type", "function")
end

function POINT.mcp(to, start, finish)
  value.add(to, "mcp.method.name", start.method)
  value.add(to, "mcp.protocol.version", start.version)
  value.add(to, "gen_ai.tool.name", start.method == "tools/call" and start.target or nil)
  value.add(to, "rpc.response.status_code", finish.error_code and tostring(finish.error_code))
  add_transport(to, start)
end

function POINT.turn(to, start) value.add(to, "gen_ai.workflow.name", start.mode or start.role) end

POINT.session = POINT.turn

--- The attributes of a point of metrics, a new array of {key, value}; with error.type where `faults` is true.
function attributes.of_metric(start, finish, faults)
  local to = core.array {}
  POINT[start.type](to, start, finish)
  if faults then value.add(to, "error.type", (fault_of(start, finish))) end
  return to
end

return attributes
