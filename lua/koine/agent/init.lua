--- Agents: an adapter and tools, and the loop between them.
--
--   local agent = koine.agent { adapter = claude, tools = { weather }, system = "Be brief." }
--   local result = assert(agent:run "What should I wear in Paris?")
--   print(result.text, result.steps, result.usage.output_tokens)
--
-- An agent is a description; every run has its own state, and any number of runs may go on at once.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local fields = require "koine.agent.fields"
local parts = require "koine.data.schema.parts"
local records = require "koine.data.records"
local run = require "koine.agent.run"
local state = require "koine.agent.state"
local stop = require "koine.agent.stop"

local agent = { steps = stop.steps, tool = stop.tool, tokens = stop.tokens, cost = stop.cost,
  deadline = stop.deadline }

local STEPS = 50 -- model calls of a run whose agent has no conditions of its own

-- Agents ------------------------------------------------------------------------------------------------------------

local methods = {}
local agent_mt = { __index = methods, __name = "koine.agent" }

local function check_messages(given)
  if type(given) == "string" then return { { role = "user", content = given } } end
  if type(given) ~= "table" then errors.argument("messages", "string or array of messages", given) end
  if given.role ~= nil then core.raise_argument("messages", "array of messages", "a single message") end
  if not check.is_list(given) then core.raise_argument("messages", "array of messages", "a table with other keys") end
  if #given == 0 then core.raise_argument("messages", "array of messages", "an empty one") end
  for i, message in ipairs(given) do records.check_message(message, ("messages[%d]"):format(i)) end
  local unfit = parts.unfit(given, 2) -- the levels that a dump puts around them
  if unfit then core.raise_argument("messages", "values that JSON has", unfit) end
  return given
end

local function in_force(self, opts)
  if opts == nil then return self.spec end
  if type(opts) ~= "table" then check.refuse("options", "table", opts) end
  return fields.merged(opts, self.spec)
end

--- Begins a run: a run object (agent/run.lua), which has done nothing yet. `messages` is a string (one user message) or
-- an array of messages, copied; `opts` is a table of fields of the agent that this run has of its own, nil for none.
-- Raises an ArgumentError for bad messages or fields.
function methods:start(messages, opts)
  return run.new(in_force(self, opts), state.new(check_messages(messages)))
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
-- whose tool was running when its process ended is answered as interrupted, and never run again. Calls that wait are
-- judged anew by this agent's tools (also those of a step that `prepare` gave others): whether they can be run, and
-- whether they need approval where that is undecided. `opts` as for start. koine.agent.load(agent, text, opts) is the
-- same.
function methods:load(text, opts)
  check.string(text, "text")
  local spec = in_force(self, opts)
  local loaded, err = state.decode(text)
  if not loaded then return nil, err end
  return run.resume(spec, loaded)
end

--- koine.agent(given): makes an agent of a table of
--   adapter     the adapter that it asks, required
--   tools       array of koine.tool, or of what koine.tool takes
--   system      string or array of text blocks
--   stop        array of conditions, or one: koine.agent.steps(n), tool(name), tokens(n), cost(usd), deadline(seconds),
--               or any function(state) (agent/stop.lua); { koine.agent.steps(50) } when absent
--   options     options of every model call (call/options): max_tokens, thinking, timeout, …
--   parallel    true: the tools of a step run at once (default false)
--   prepare     function(step) called before each model call with {number, messages, usage, stop_reason} (copies): nil,
--               or what this one call has of its own: adapter (another model), tools, system, options, messages (what
--               is sent in place of the history, which stays as it is)
--   name        string: what observers call it
--   observer    function of one record, or object with a method record: is told what begins and ends in its runs,
--               model calls and tools (docs/observing.md); parent: a context or traceparent that runs are a part of
--   on_event    function(event, run), for each event: {kind = "reasoning" | "tool_call" | "tool_result" | "output",
--               content (text), tool_name, tool_input (JSON text), tool_call_id, is_error, traceback, redacted, seq,
--               timestamp}
--   on_delta    function(delta), for each delta of the stream, which is then asked for
--   checkpoint  function(run) called when the state has changed: after a model call, before a tool runs (its call is
--               then marked as started), and after it; for saving run:dump(). When it raises before a tool runs, the
--               mark is taken back and the tool not run; the next step tries again
-- Tables are copied. Raises an ArgumentError naming the field that is missing, unknown or bad (`tools[2].name`).
local function new(given)
  if type(given) ~= "table" then check.refuse("agent", "table", given) end
  local spec = fields.merged(given, { tools = {}, parallel = false, stop = { stop.steps(STEPS) } })
  check.adapter(spec.adapter, "adapter")
  return setmetatable({ spec = spec }, agent_mt)
end

check.colons(methods, agent_mt, "agent")

--- agent:load as a function of the module: the run, or nil, err.
agent.load = methods.load

--- koine.agent.keeper(given): keeps a run in a store, so that another process can take it up: agent/keeper.lua. Returns
-- the keeper. Raises an ArgumentError.
function agent.keeper(given) return require "koine.agent.keeper"(given) end

return setmetatable(agent, { __call = function(_, given) return new(given) end })
