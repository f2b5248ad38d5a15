--- An adapter that plays a script instead of asking a provider: for tests of code that talks to adapters.
--
--   local book = koine.testing.playbook { steps = {
--     { step = 1, type = "tool_calls", tool_calls = { { id = "c1", name = "add", arguments = { a = 2, b = 3 } } } },
--     { step = 2, type = "message", content = "It is 5." },
--   } }
--   local r = assert(book:chat("What is 2 + 3?", { tools = { add } }))
--   assert(book.call_log[1].messages[1].content == "What is 2 + 3?")
--   book:verify_all_consumed()
--
-- A step has an id (`step`, an integer of its own) and a `type`:
--   "message"     content = non-empty string
--   "tool_calls"  tool_calls = array of {id, name, arguments}; content = text before them, optional
--   "error"       error = {status, code, type, message, headers, retry_after, body} or {kind, message}: the call fails
--   "answer"      a scripted answer: content = string or blocks (a tool_use may have arguments_json instead of
--                 arguments), stop_reason (else inferred), usage = {input_tokens, …}, model, id, stop_sequence,
--                 chunk = bytes per delta (else each text comes in two), interleave = true for parallel tool calls
--                 in turns, error, stream_error = {type, message, status, after = how many …_delta come first}
-- "message" and "tool_calls" also take thinking = string, usage and stop_reason; all take fault = {delay_ms = n}.
--
-- The rest is an adapter like every other: chat, open, stream (with deltas in the canonical grammar), all options.
-- Mistakes in the script and calls beyond its end raise a PlaybookError.

local custom_adapter = require "koine.call.custom_adapter"
local errors = require "koine.data.errors"
local failures = require "koine.testing.playbook.errors"
local records = require "koine.data.records"
local scenarios = require "koine.testing.playbook.scenarios"
local steps = require "koine.testing.playbook.steps"
local answers = require "koine.testing.playbook.answer"

local PROVIDER, TITLE, MODEL, CONTEXT = "playbook", "Tester Playbook", "tester-playbook", 1000000

local methods = {}

--- How many steps were played: 0 at first.
function methods:current_index() return self.played end

--- How many steps are left.
function methods:remaining_steps() return #self.steps - self.played end

--- True when no step is left.
function methods:finished() return self.played == #self.steps end

--- Returns true when every step was played; raises an UnconsumedStepsError with the ids of the others.
function methods:verify_all_consumed()
  if self:finished() then return true end
  local left = {}
  for i = self.played + 1, #self.steps do left[#left + 1] = self.steps[i].step end
  failures.unconsumed(self.played, #self.steps, left)
end

--- Begins anew: the first step is the next one, and the log of calls is empty.
function methods:reset()
  self.played, self.calls, self.call_log = 0, 0, {}
end

--- The one model there is, an array of one model_info.
function methods:list_models()
  return { records.model_info { id = self:model_name(), name = TITLE, max_context_tokens = CONTEXT,
    supports_vision = false, supports_tool_use = true, supports_streaming = true } }
end

--- The context in tokens.
function methods.max_context_tokens() return CONTEXT end

-- The primitive: logs the call, then plays the next step.
local function open(self, messages, opts)
  self.calls = self.calls + 1
  local step = self.steps[self.played + 1]
  if not step then failures.exhausted(#self.steps, self.calls) end
  self.played = self.played + 1
  local parent = opts.parent
  opts.parent = nil -- and no key: a log is printed and compared
  local entry = records.to_table(opts)
  entry.key, opts.parent = nil, parent
  entry.step, entry.messages = step.step, records.to_table(messages)
  self.call_log[#self.call_log + 1] = entry
  return answers.play(step:answer(), { provider = PROVIDER, model = self:model_name() })
end

-- Splits what the constructor was given into the steps and the options of an adapter.
local function split(given)
  if type(given) == "string" or (type(given) == "table" and given.steps == nil and (given[1] ~= nil or
    next(given) == nil)) then
    return given, {}
  end
  if type(given) ~= "table" then errors.argument("playbook", "JSON text, array of steps, or {steps = …}", given) end
  local options = {}
  for name, value in next, given do
    if name ~= "steps" then options[name] = value end
  end
  return given.steps, options
end

--- Makes a playbook: `given` is {steps = JSON text or array of steps, and any option that adapters' constructors take
-- (model, key, max_tokens, …)}, or the steps alone. Raises an InvalidPlaybookError naming the bad field of a step, an
-- ArgumentError naming a bad option. The adapter's own fields: `steps` (read-only, each prints as "Step #2 (message)"
-- and answers step:is "message") and `call_log`: an array of what each call was given, {step = id, messages, and every
-- option in force but key, observer and parent}, deep copies.
local function new(_, given)
  local script, options = split(given)
  options.model = options.model or MODEL
  local book = custom_adapter { name = TITLE, open = open, options = options, steps = steps.load(script) }
  for name, method in next, methods do book[name] = method end
  book:reset()
  return book
end

return setmetatable({ scenarios = scenarios, step = steps.new }, { __call = new })
