--- One turn of the model: the call, and what its answer makes of the run's state and events.
--
-- May call: koine.core, errors, options, records, tool, agent.state, agent.usage.

local core = require "koine.core"
local errors = require "koine.errors"
local options = require "koine.options"
local records = require "koine.records"
local state = require "koine.agent.state"
local tool = require "koine.tool"
local usage = require "koine.agent.usage"

local turn = {}

local PAUSES_MAX = 16 -- turns in a row that the provider pauses before this is an error
local DEPTH_MAX = 100 -- levels of tables in arguments; a request and a dump have room for a few more

-- Preparing ---------------------------------------------------------------------------------------------------------

-- What `prepare` may return; agent.lua checks what goes into it.
local PREPARED = { adapter = true, tools = true, system = true, messages = true, options = true }

-- The options of one model call.
local function call_options(given, system, tools, on_delta)
  local all = {}
  for name, value in next, given or {} do all[name] = value end
  all.system, all.tools = system, #tools > 0 and tools or nil
  if on_delta then all.stream, all.on_delta = true, on_delta end
  return all
end

-- What the user's `prepare` says of the step, checked; an empty table when it says nothing.
local function prepared(spec, self)
  if not spec.prepare then return {} end
  local said = spec.prepare { number = self.steps + 1, messages = state.history(self, "running"), usage = self.usage,
    stop_reason = self.stop_reason }
  if said == nil then return {} end
  if type(said) ~= "table" then errors.argument("prepare", "a table or nothing returned", said) end
  for name in next, said do
    if not PREPARED[name] then options.unknown("field", name, PREPARED, "prepare." .. tostring(name)) end
  end
  return said
end

--- The next model call: {adapter, messages, options, tools}. `spec` is the run's, `check` checks a field of it.
function turn.plan(spec, self, check)
  local said = prepared(spec, self)
  local function field(name)
    if said[name] == nil then return spec[name] end
    return check(name, said[name], "prepare." .. name)
  end
  local tools, messages = field "tools", said.messages
  if messages ~= nil and type(messages) ~= "table" then
    errors.argument("prepare.messages", "array of messages", messages)
  end
  return { adapter = field "adapter", messages = messages or self.messages, tools = tools,
    options = call_options(field "options", field "system", tools, spec.on_delta) }
end

-- Events ------------------------------------------------------------------------------------------------------------

-- The event of a block, nil for blocks that have none.
local function event_of(block)
  local kind = block.type
  if kind == "text" or kind == "refusal" then return { kind = "output", content = block.text } end
  if kind == "thinking" then return { kind = "reasoning", content = block.thinking } end
  if kind == "redacted_thinking" then return { kind = "reasoning", content = "", redacted = true } end
  if kind ~= "tool_use" then return nil end
  return { kind = "tool_call", content = "", tool_name = block.name, tool_call_id = block.id,
    tool_input = block.arguments_json or core.encode(block.arguments) }
end

-- Calls -------------------------------------------------------------------------------------------------------------

-- What of a call is known before it is run.
local function judged(tools, block)
  local call = { id = block.id, name = block.name, arguments = block.arguments,
    arguments_json = block.arguments_json or core.encode(block.arguments), problem = tool.problem(tools, block) }
  local wanted = not call.problem and tool.find(tools, block.name).needs_approval
  if type(wanted) == "function" then
    local ok, answer = pcall(wanted, records.to_table(block.arguments))
    if not ok then call.problem = "not run: whether it needs approval could not be told: " .. tostring(answer) end
    wanted = ok and answer
  end
  if wanted then call.approval = "asked" end
  return call
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

-- The blocks of a turn, fit for requests and dumps: arguments that are nested too deeply for them count as malformed.
local function sound(content)
  local kept = core.array {}
  for i, block in ipairs(content) do
    kept[i] = block
    if block.type == "tool_use" and is_deeper(block.arguments, DEPTH_MAX) then
      kept[i] = { type = "tool_use", id = block.id, name = block.name, arguments = {},
        arguments_json = block.arguments_json, arguments_error = ("nested deeper than %d levels"):format(DEPTH_MAX) }
    end
  end
  return kept
end

-- Adds the turn to the history; one that goes on with a paused turn becomes one message with it.
local function append(self, content)
  local messages = self.messages
  if self.pauses == 0 then
    messages[#messages + 1] = { role = "assistant", content = content }
    return
  end
  local joined = core.array(table.move(state.blocks(messages[#messages].content), 1, #messages[#messages].content, 1,
    {}))
  table.move(content, 1, #content, #joined + 1, joined)
  messages[#messages] = { role = "assistant", content = joined }
end

local function text_of(content)
  local parts = {}
  for _, block in ipairs(content) do
    if block.type == "text" then parts[#parts + 1] = block.text end
  end
  return table.concat(parts)
end

-- Why a turn cannot be gone on from, or nil.
local function defect(self, response)
  local reason, calls = response.stop_reason, response.tool_calls
  if reason == "tool_use" and #calls == 0 then
    return errors.new { kind = "protocol", provider = response.provider, request_id = response.request_id,
      message = "the model stopped for tool calls, but made none" }
  end
  if reason == "pause_turn" and #calls == 0 and self.pauses >= PAUSES_MAX then
    return errors.new { kind = "limit", provider = response.provider,
      message = ("the provider paused its turn %d times in a row"):format(self.pauses + 1) }
  end
end

local GOES_ON = { tool_use = true, end_turn = true, pause_turn = true } -- with calls that are whole

-- What follows from the turn: calls to run, another part of it, or the end of the run.
local function follow(self, reason, content, tools)
  local blocks = {}
  for _, block in ipairs(content) do
    if block.type == "tool_use" then blocks[#blocks + 1] = block end
  end
  if #blocks > 0 and GOES_ON[reason] then
    self.calls, self.pauses = core.array {}, 0
    for i, block in ipairs(blocks) do self.calls[i] = judged(tools, block) end
  elseif reason == "pause_turn" then
    self.pauses = self.pauses + 1
  else
    self.status = "completed"
    if #blocks == 0 then return end
    self.messages[#self.messages + 1] = state.answers(blocks, "the turn was cut off (" .. reason .. ")")
  end
end

--- Enters a Response into the state: history, usage, events, and the calls that it makes with `tools`. true, or nil,
-- err when the run cannot go on from it: the history is then as before.
function turn.record(self, response, tools)
  usage.add(self.usage, response.usage)
  self.steps = self.steps + 1
  local err = defect(self, response)
  if err then return nil, err end
  local content = sound(response.content)
  append(self, content)
  self.pauses = response.stop_reason == "pause_turn" and self.pauses or 0
  self.stop_reason, self.text = response.stop_reason, text_of(self.messages[#self.messages].content)
  for _, block in ipairs(content) do
    local event = event_of(block)
    if event then state.tell(self, event) end
  end
  follow(self, response.stop_reason, content, tools)
  return true
end

return turn
