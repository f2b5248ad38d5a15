--- Agents: an adapter and tools, and the loop between them.
--
--   local agent = koine.agent { adapter = claude, tools = { weather }, system = "Be brief." }
--   local result = assert(agent:run "What should I wear in Paris?")
--   print(result.text, result.steps, result.usage.output_tokens)
--
-- An agent is a description; every run has its own state, and any number of runs may go on at once.
--
-- May call: koine.core, errors, options, records, tool, agent.*.

local core = require "koine.core"
local errors = require "koine.errors"
local options = require "koine.options"
local records = require "koine.records"
local run = require "koine.agent.run"
local state = require "koine.agent.state"
local stop = require "koine.agent.stop"
local tool = require "koine.tool"

local agent = { steps = stop.steps, tool = stop.tool, tokens = stop.tokens, cost = stop.cost,
  deadline = stop.deadline }

local STEPS = 50 -- model calls of a run whose agent has no conditions of its own

-- The fields: function(value, path) → value to keep; raises an ArgumentError ----------------------------------------

local function of_type(expected)
  return function(value, path)
    if type(value) ~= expected then errors.argument(path, expected, value) end
    return value
  end
end

local function check_adapter(value, path)
  local ok, chat = pcall(function() return value.chat end)
  if not ok or type(chat) ~= "function" then errors.argument(path, "adapter", value) end
  return value
end

local function check_tools(value, path)
  if type(value) ~= "table" then errors.argument(path, "array of tools", value) end
  local kept, names = {}, {}
  for i, one in ipairs(value) do
    local at = ("%s[%d]"):format(path, i)
    if type(one) ~= "table" then errors.argument(at, "tool", one) end
    kept[i] = tool.is_tool(one) and one or tool(one)
    if names[kept[i].name] then errors.argument(at .. ".name", "a name of its own", kept[i].name) end
    names[kept[i].name] = true
  end
  return kept
end

local function check_system(value, path)
  if type(value) ~= "string" and type(value) ~= "table" then
    errors.argument(path, "string or array of text blocks", value)
  end
  return value
end

local function check_stop(value, path)
  if type(value) == "function" then return { value } end
  if type(value) ~= "table" then errors.argument(path, "array of conditions", value) end
  for i, condition in ipairs(value) do
    if type(condition) ~= "function" then errors.argument(("%s[%d]"):format(path, i), "condition", condition) end
  end
  return value
end

local OWN = { system = true, tools = true, on_delta = true, stream = true }

local function check_options(value, path)
  if type(value) ~= "table" then errors.argument(path, "table of call options", value) end
  for name in next, value do
    if OWN[name] then errors.argument(path .. "." .. name, "a field of the agent, not an option", name) end
  end
  return value
end

local FUNCTION = of_type "function"
local FIELDS = { adapter = check_adapter, tools = check_tools, system = check_system, stop = check_stop,
  options = check_options, parallel = of_type "boolean", prepare = FUNCTION, on_event = FUNCTION, on_delta = FUNCTION,
  checkpoint = FUNCTION }

local function check_field(name, value, path) return FIELDS[name](value, path or name) end

-- `given`, checked, over what `below` holds.
local function merged(given, below)
  local spec = {}
  for name, value in next, below do spec[name] = value end
  for name, value in next, given do
    if not FIELDS[name] then options.unknown("field", name, FIELDS) end
    spec[name] = check_field(name, value)
  end
  return spec
end

-- Agents ------------------------------------------------------------------------------------------------------------

local methods = {}
local agent_mt = { __index = methods, __name = "koine.agent" }

local function check_messages(given)
  if type(given) == "string" then return { { role = "user", content = given } } end
  if type(given) ~= "table" then errors.argument("messages", "string or array of messages", given) end
  if given.role ~= nil then core.raise_argument("messages", "array of messages", "a single message") end
  if #given == 0 then core.raise_argument("messages", "array of messages", "an empty one") end
  for i, message in ipairs(given) do records.check_message(message, ("messages[%d]"):format(i)) end
  local fit, err = pcall(core.encode, { { given } }) -- with the levels that a dump puts around them
  if not fit then core.raise_argument("messages", "values that JSON has", tostring(err)) end
  return given
end

local function in_force(self, opts)
  if opts == nil then return self.spec end
  if type(opts) ~= "table" then errors.argument("options", "table", opts) end
  return merged(opts, self.spec)
end

--- Begins a run: a run object (agent/run.lua), which has done nothing yet. `messages` is a string (one user message) or
-- an array of messages, copied; `opts` is a table of fields of the agent that this run has of its own, nil for none.
-- Raises an ArgumentError for bad messages or fields.
function methods:start(messages, opts)
  return run.new(in_force(self, opts), check_field, state.new(check_messages(messages)))
end

--- Runs to the end: the result (see run:summary) and the run, or nil, err, and the run. Arguments as for start. A
-- result whose status is "paused" waits for run:approve or run:deny; run:result() goes on then.
function methods:run(messages, opts)
  local started = self:start(messages, opts)
  local result, err = started:result()
  if not result then return nil, err, started end
  return result, started
end

--- The run that `text` (what run:dump gave) holds, to go on with this agent: nil, err when it is no such text. A call
-- whose tool was running when its process ended is answered as interrupted, and never run again. `opts` as for start.
function agent.load(self, text, opts)
  if getmetatable(self) ~= agent_mt then errors.argument("agent", "agent", self) end
  if type(text) ~= "string" then errors.argument("text", "string", text) end
  local spec = in_force(self, opts)
  local loaded, err = state.decode(text)
  if not loaded then return nil, err end
  return run.new(spec, check_field, loaded)
end

--- koine.agent(given): makes an agent of a table of
--   adapter     whom it asks, required
--   tools       array of koine.tool, or of what koine.tool takes
--   system      string or array of text blocks
--   stop        array of conditions, or one: koine.agent.steps(n), tool(name), tokens(n), cost(usd), deadline(seconds),
--               or any function(state) (agent/stop.lua); { koine.agent.steps(50) } when absent
--   options     options of every model call (options.lua): max_tokens, thinking, timeout, …
--   parallel    true: the tools of a turn run at once (default false)
--   prepare     function(step) called before each model call with {number, messages, usage, stop_reason}: nil, or what
--               this one call has of its own: adapter (another model), tools, system, options, messages (what is sent
--               in place of the history, which stays as it is)
--   on_event    function(event, run), for each event: {kind = "reasoning" | "tool_call" | "tool_result" | "output",
--               content (text), tool_name, tool_input (JSON text), tool_call_id, is_error, redacted, seq, timestamp}
--   on_delta    function(delta), for each delta of the stream, which is then asked for
--   checkpoint  function(run) called when the state has changed: after a model call, before a tool runs (its call is
--               then marked as started), and after it; for saving run:dump()
-- Raises an ArgumentError naming the field that is missing, unknown or bad.
local function new(given)
  if type(given) ~= "table" then errors.argument("agent", "table", given) end
  if given.adapter == nil then errors.argument("adapter", "adapter", nil) end
  local spec = merged(given, { tools = {}, parallel = false, stop = { stop.steps(STEPS) } })
  return setmetatable({ spec = spec }, agent_mt)
end

return setmetatable(agent, { __call = function(_, given) return new(given) end })
