--- Sessions by agents of other programs, koine.session.acp{…}: a provider that starts an agent for each session, has it
-- play one turn, and tells what it did in the form of all sessions.
--
--   local provider = koine.session.acp { command = "my-agent", permission = "allow" }
--   local result = koine.session.run(provider, { workdir = "repo", role = "implementor", model = "default", … })
--
-- allowed_tools are names or kinds of the agent's tools; they bound what `permission` may allow.

local acp = require "koine.protocol.acp"
local check = require "koine.data.check"
local context = require "koine.session.context"
local core = require "koine.core"
local errors = require "koine.data.errors"
local inputs = require "koine.session.input"
local observe = require "koine.session.observe"
local runners = require "koine.session.runner"

local provider = {}

-- Inputs that mean nothing to an agent of another program.
local IGNORED = { "deadline_seconds", "ignore_unknown_tools", "max_rounds", "max_tokens_total", "options", "system" }
local READ_ONLY = { "plan", "read-only", "read_only" } -- modes of an orchestrator, the best first
local ANY_MODEL = "default" -- what the agent itself would take

local PRESET = check.one_of(check.names(acp.presets))

local methods = {}
local provider_mt = { __index = methods, __name = "koine.session.acp" }

local work_methods = {}
local work_mt = { __index = work_methods }

-- The first mode of the agent that changes nothing; nil for none.
local function read_only_mode(session)
  for _, option in ipairs(session.options) do
    for _, mode in ipairs(option.category == "mode" and READ_ONLY or {}) do
      for _, choice in ipairs(option.choices) do
        if choice.value == mode then return mode end
      end
    end
  end
end

-- Chooses model and mode: true, or nil, err.
local function choose(work)
  local input, session = work.input, work.session
  if input.role == "orchestrator" then
    local mode = read_only_mode(session)
    if not mode then
      return nil, errors.new { kind = "other", code = "mode",
        message = "the agent offers no mode that changes nothing" }
    end
    local ok, err = session:set("mode", mode)
    if not ok then return nil, err end
  end
  for _, option in ipairs(session.options) do
    if option.category == "model" then
      if input.model == ANY_MODEL or option.value == input.model then return true end
      return session:set(option.id, input.model)
    end
  end
  if input.model ~= ANY_MODEL then work.ignored[#work.ignored + 1] = "model" end
  return true
end

-- The options of connect for a session.
local function options_for(work)
  local made, input = {}, work.input
  for name, value in next, work.options do made[name] = value end
  made.cwd, made.allowed_tools = input.workdir, input.allowed_tools
  made.permission = made.permission or input.role == "orchestrator" and "read" or "allow"
  local own = input.executor
  if type(own) == "table" and type(own.read_text) == "function" and own.workdir then
    made.executor = own
  elseif own then
    work.ignored[#work.ignored + 1] = "executor"
  end
  return made
end

-- Starts the agent and the turn: true, or nil, err.
local function begin(work, runner)
  local message, about = context.message(work.input)
  if not message then return nil, about end
  runner.facts.skipped_context, runner.facts.cut_context = about.skipped, about.cut
  local err
  work.connection, err = acp.connect(options_for(work))
  if not work.connection then return nil, err end
  work.session, err = work.connection:new()
  if not work.session then return nil, err end
  local ok, problem = choose(work)
  if not ok then return nil, problem end
  work.turn, err = work.session:start(message, { parent = observe.context(runner),
    on_delta = work.input.on_delta and function(delta) runners.consume(runner, work.input.on_delta, delta) end })
  return work.turn and true or nil, err
end

-- Enters how the turn ended.
local function judge(work, runner)
  local result, err = work.turn:result()
  work.final = result or err.partial
  if err then return runner.outcome:fail(err) end
  runner.facts.stop_reason = result.stop_reason
  if result.status == "stopped" then
    runner.outcome:fail(errors.new { kind = "limit", message = result.reason })
  elseif result.status == "cancelled" then
    runner.outcome:worsen("blocked", "cancelled")
  else
    runner.outcome:stopped(result.stop_reason)
  end
end

--- A unit of the session; see runner.lua.
function work_methods:step(runner)
  if not self.turn then
    local ok, err = begin(self, runner)
    if not ok then runner.outcome:fail(err) end
    return ok or false
  end
  local event = self.turn:next()
  if event then
    runners.tell(runner, event)
    return true
  end
  judge(self, runner)
  return false
end

-- Enters what the turn used, and its tool calls.
local function account(runner, final)
  local usage, used = runner.usage, final.usage or {}
  usage.tokens_in, usage.tokens_out = used.input_tokens or 0, used.output_tokens or 0
  usage.cache_read_tokens, usage.cache_creation_tokens = used.cache_read_tokens or 0, used.cache_creation_tokens or 0
  usage.reasoning_tokens, usage.model_calls = used.reasoning_tokens or 0, nil
  usage.incomplete, usage.cost_usd = used.incomplete, final.cost_usd
  for _, call in ipairs(final.calls or {}) do
    runners.audit(runner, { tool_name = call.name, tool_input = type(call.input) == "table" and call.input or {},
      blocked = call.blocked, block_reason = call.reason or "", timestamp = call.at })
  end
end

--- Ends the agent, and enters usage and audit log into the runner.
function work_methods:close(runner)
  if self.turn then self.turn:close() end
  if self.connection then self.connection:close() end
  if self.final then account(runner, self.final) end
  table.sort(self.ignored, core.before)
  runner.facts.ignored = self.ignored
end

--- Begins a session: what koine.session.events returns. Raises an ArgumentError for bad inputs.
function methods:open_session(given)
  local input = inputs.check(given)
  local ignored = core.array {}
  for _, name in ipairs(IGNORED) do
    if given[name] ~= nil then ignored[#ignored + 1] = name end
  end
  return runners.new(input, setmetatable({ input = input, options = self.options, ignored = ignored, turn = false,
    provider = self.options.command:match "[^/]*$",
    connection = false, session = false, final = false }, work_mt))
end

--- Runs a session: the result.
function methods:run_session(given)
  local opened <close> = self:open_session(given)
  return opened:result()
end

--- koine.session.acp(opts): a provider of sessions. opts are those of koine.acp.connect but cwd, executor and
-- allowed_tools, which a session's inputs have, and `preset`: the name of a well-known agent (koine.acp.presets) for
-- the program and its arguments. `permission` is "allow" for implementors and "read" for orchestrators unless it is
-- given. Raises an ArgumentError.
function provider.new(opts)
  if type(opts) ~= "table" then errors.argument("options", "table", opts) end
  local made = {}
  for name, value in next, opts do made[name] = value end
  if made.preset ~= nil then
    for name, value in next, acp.presets[PRESET(made.preset, "preset")] do
      if made[name] == nil then made[name] = value end
    end
    made.preset = nil
  end
  for _, name in ipairs { "cwd", "executor", "allowed_tools", "model" } do
    if made[name] ~= nil then core.raise_argument(name, "an input of the session", "an option of the provider") end
  end
  acp.check(made)
  return setmetatable({ options = made }, provider_mt)
end

return provider
