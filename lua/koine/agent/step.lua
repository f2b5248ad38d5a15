--- One step of a run: the call, and what its answer makes of the run's state and events.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local fields = require "koine.agent.fields"
local parts = require "koine.data.schema.parts"
local records = require "koine.data.records"
local state = require "koine.agent.state"
local tool = require "koine.agent.tool"
local usage = require "koine.data.usage"

local step = {}

local PAUSES_MAX = 16 -- answers in a row that the provider pauses before this is an error
local DEPTH_MAX = 100 -- levels of tables in arguments; a request and a dump have room for a few more
local LEVELS = 4      -- of tables around the content of a message in a dump

-- Preparing ---------------------------------------------------------------------------------------------------------

-- The fields that `prepare` may return; agent/fields.lua checks their values.
local PREPARED = { adapter = true, tools = true, system = true, messages = true, options = true }

-- The tools that the model is sent, nil when there are none.
local function offered(tools)
  local list = {}
  for _, one in ipairs(tools) do list[#list + 1] = not one.hidden and tool.offer(one) or nil end
  return #list > 0 and list or nil
end

local REPAIRS = 1 -- further answers that a run asks for when one does not fit

-- The option output with a run's own default.
local function with_repairs(given)
  if type(given) ~= "table" or given.repair ~= nil then return given end
  local output = { repair = REPAIRS }
  for name, value in next, given do output[name] = value end
  return output
end

-- The options of one model call.
local function call_options(given, system, tools, on_delta)
  local all = {}
  for name, value in next, given or {} do all[name] = value end
  all.output = with_repairs(all.output)
  all.system, all.tools = system, offered(tools)
  if on_delta then all.stream, all.on_delta = true, on_delta end
  return all
end

-- Returns the checked result of the user's `prepare` for the step; an empty table for nil.
local function prepared(spec, self)
  if not spec.prepare then return {} end
  local said = spec.prepare { number = self.steps + 1, messages = state.history(self, "running"),
    usage = usage.copy(self.usage), stop_reason = self.stop_reason }
  if said == nil then return {} end
  if type(said) ~= "table" then errors.argument("prepare", "a table or nothing returned", said) end
  for name in next, said do
    if not PREPARED[name] then check.unknown("field", name, PREPARED, "prepare." .. tostring(name)) end
  end
  return said
end

--- The next model call: {adapter, messages (nil: the history), options, tools}. `spec` is the run's. Raises what
-- `prepare` raises, and an ArgumentError for what it may not return.
function step.plan(spec, self)
  local said = prepared(spec, self)
  local function field(name)
    if said[name] == nil then return spec[name] end
    return fields.check(name, said[name], "prepare." .. name)
  end
  local tools, messages = field "tools", said.messages
  if messages ~= nil and type(messages) ~= "table" then
    errors.argument("prepare.messages", "array of messages", messages)
  end
  return { adapter = field "adapter", messages = messages, tools = tools,
    options = call_options(field "options", field "system", tools, spec.on_delta) }
end

-- Events ------------------------------------------------------------------------------------------------------------

--- The event of a block, nil for blocks that have none.
function step.event(block)
  local kind = block.type
  if kind == "text" or kind == "refusal" then return { kind = "output", content = block.text } end
  if kind == "thinking" then return { kind = "reasoning", content = block.thinking } end
  if kind == "tool_use" and block.output then return { kind = "output", content = block.arguments_json } end
  if kind == "redacted_thinking" then return { kind = "reasoning", content = "", redacted = true } end
  if kind ~= "tool_use" then return nil end
  return { kind = "tool_call", content = "", tool_name = block.name, tool_call_id = block.id,
    tool_input = block.arguments_json or core.encode(block.arguments) }
end

-- Calls -------------------------------------------------------------------------------------------------------------

-- Judges whether a call can be run with these tools, and, where it is undecided, whether it needs approval. `block` is
-- the call as the model made it.
local function judge(call, block, tools)
  call.problem = tool.problem(tools, { name = call.name, arguments = call.edited or call.arguments,
    arguments_error = block.arguments_error })
  if call.approval == "given" then return end
  local wanted = not call.problem and tool.find(tools, call.name).needs_approval
  if type(wanted) == "function" then
    local ok, answer = pcall(wanted, records.to_table(call.arguments))
    if not ok then call.problem = "not run: the check whether it needs approval failed: " .. tostring(answer) end
    wanted = ok and answer
  end
  call.approval = wanted and "asked" or nil
end

-- Returns the members of a call that are known before it is run.
local function judged(block, tools)
  local call = { id = block.id, name = block.name, arguments = block.arguments,
    arguments_json = block.arguments_json or core.encode(block.arguments) }
  judge(call, block, tools)
  return call
end

--- Judges the calls of a loaded state anew by these tools: those that have not started and were not denied. A call
-- whose tool is not there any more stays as it is, and needs no approval.
function step.judge_again(self, tools)
  if not self.calls or self.status ~= "running" then return end
  local uses = state.uses(self.messages[#self.messages].content)
  for i, call in ipairs(self.calls) do
    if call.content == nil and not call.started and call.approval ~= "denied" then
      if tool.find(tools, call.name) then judge(call, uses[i], tools) else call.approval = nil end
    end
  end
end

-- Recording ---------------------------------------------------------------------------------------------------------

-- True when a value has more than so many levels of tables.
local function is_deeper(value, levels)
  if type(value) ~= "table" then return false end
  if levels == 0 then return true end
  for _, member in next, value do
    if is_deeper(member, levels - 1) then return true end
  end
  return false
end

-- The blocks of an answer, fit for requests and dumps: arguments that are nested too deeply for them count as
-- malformed.
local function sound(content)
  local kept = core.array {}
  for i, block in ipairs(content) do
    kept[i] = block
    if block.type == "tool_use" and is_deeper(block.arguments, DEPTH_MAX) then
      kept[i] = { type = "tool_use", id = block.id, name = block.name, arguments = {}, output = block.output,
        arguments_json = block.arguments_json, arguments_error = ("nested deeper than %d levels"):format(DEPTH_MAX) }
    end
  end
  return kept
end

-- Adds the answer to a draft of the state; one that goes on with a paused answer becomes one message with it. Returns
-- the message.
local function append(self, draft, content)
  if draft.pauses == 0 then
    local message = { role = "assistant", content = content }
    draft.messages[#draft.messages + 1] = message
    return message
  end
  local before = state.blocks(self.messages[#self.messages].content)
  local joined = table.move(before, 1, #before, 1, core.array {})
  draft.last = { role = "assistant", content = table.move(content, 1, #content, #joined + 1, joined) }
  return draft.last
end

-- Whether an adapter's answer is a Response, or a table with what the loop needs of one.
local function is_response(value)
  return (type(value) == "table" or type(value) == "userdata") and type(value.content) == "table"
    and (value.stop_reason == nil or type(value.stop_reason) == "string")
end

-- Why an answer with these blocks cannot be gone on from, or nil.
local function defect(self, response, content)
  local reason, uses = response.stop_reason, state.uses(content)
  local function failed(kind, message)
    return errors.new { kind = kind, message = message, provider = response.provider, request_id = response.request_id }
  end
  if reason == "tool_use" and #uses == 0 then
    return failed("protocol", "the model stopped for tool calls, but made none")
  end
  if reason == "pause_turn" and #uses == 0 and self.pauses >= PAUSES_MAX then
    return failed("limit", ("the provider paused its answer %d times in a row"):format(self.pauses + 1))
  end
  for _, block in ipairs(uses) do
    if type(block.name) ~= "string" or type(block.id) ~= "string" then
      return failed("protocol", "a call without a name or an id")
    end
    if type(block.arguments) ~= "table" then return failed("protocol", "a call without a table of arguments") end
  end
  local unfit = parts.unfit(content, LEVELS)
  if unfit then return failed("protocol", "the response cannot be kept: " .. unfit) end
end

local GOES_ON = { tool_use = true, end_turn = true, pause_turn = true } -- with calls that are whole

-- The calls to run that an answer makes, or nil.
local function calls_of(uses, reason, tools)
  if #uses == 0 or not GOES_ON[reason] then return nil end
  local calls = core.array {}
  for i, block in ipairs(uses) do calls[i] = judged(block, tools) end
  return calls
end

-- Notes the value of the answer, or why there is none: true where there is one, which ends the run.
local function take_output(draft, response)
  draft.output, draft.output_error, draft.output_mode = nil, nil, response.output_mode
  if response.output_mode == nil then return false end
  draft.output_error = records.to_table(response.output_error)
  if response.output == nil then return false end
  draft.output = records.to_table(response.output)
  return true
end

-- Enters what follows from the answer: calls to run, another part of it, or the end of the run. `has_output`: it holds
-- the value that was asked for.
local function follow(draft, reason, uses, calls, has_output)
  if has_output then calls = nil end
  if calls then
    draft.calls, draft.pauses = calls, 0
  elseif reason == "pause_turn" then
    draft.pauses = draft.pauses + 1
  else
    draft.status = "completed"
    if #uses == 0 then return end
    local why = has_output and "the answer came with this call"
      or ("the answer was cut off (%s)"):format(reason or "no reason given")
    draft.messages[#draft.messages + 1] = state.answers(uses, why)
  end
end

--- Enters a Response into the state: history, usage, events, and the calls that it makes with `tools`. true, or nil,
-- err when the run cannot go on from it: the history is then as before. Waits where needs_approval waits; breaking
-- it off there changes nothing but usage and steps.
function step.record(self, response, tools)
  if not is_response(response) then
    return nil, errors.new { kind = "other", message = "the adapter's answer is no response" }
  end
  usage.add(self.usage, response.usage)
  self.steps = self.steps + 1
  local reason, content = response.stop_reason, sound(response.content)
  local err = defect(self, response, content)
  if err then return nil, err end
  content = records.to_table(content)
  local uses, events = state.uses(content), {}
  for _, block in ipairs(content) do events[#events + 1] = step.event(block) end
  local calls = calls_of(uses, reason, tools)
  local draft = state.draft(self)
  local message = append(self, draft, content)
  draft.pauses = reason == "pause_turn" and draft.pauses or 0
  draft.stop_reason, draft.text = reason, state.text_of(message.content)
  for _, event in ipairs(events) do state.tell(draft, event) end
  follow(draft, reason, uses, calls, take_output(draft, response))
  state.commit(self, draft)
  return true
end

-- Kinds of errors after which the usage is unknown: the provider may have answered in part, and counted that.
local UNTOLD = { stream_truncated = true, timeout = true, protocol = true, limit = true, cancelled = true }

--- Returns the response that had arrived when a model call failed with this error, or nil.
function step.partial(err)
  local partial = errors.is_error(err) and err.partial
  return is_response(partial) and partial or nil
end

--- Enters what a model call used that failed, as far as that is known: what had arrived counts.
function step.record_failure(self, err)
  local partial = step.partial(err)
  if partial then usage.add(self.usage, partial.usage) end
  if partial or errors.is_error(err) and UNTOLD[err.kind] then usage.miss(self.usage) end
end

--- Enters that a model call was broken off before its usage was known.
function step.record_break(self) usage.miss(self.usage) end

return step
