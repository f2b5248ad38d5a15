--- The outcome of a session: completed until something is worse; it never gets better. error > blocked > completed,
-- and the first reason of the worst kind stays.

local errors = require "koine.data.errors"
local failure = require "koine.call.output.failure"

local outcomes = {}

--- Phrases with which a model asks for a human at the end of its output, in lower case.
outcomes.PHRASES = { "i need human input", "i need your input", "please clarify", "i cannot proceed without",
  "waiting for your response" }

local RANK = { completed = 0, blocked = 1, error = 2 }

local methods = {}
local outcome_mt = { __index = methods }

--- An outcome: {outcome = "completed", reason, error, truncated, checkpoint}.
function outcomes.new() return setmetatable({ outcome = "completed" }, outcome_mt) end

--- The outcome is at least this one.
function methods:worsen(outcome, reason, err)
  if RANK[outcome] <= RANK[self.outcome] then return end
  self.outcome, self.reason, self.error = outcome, reason, err
end

--- The session failed with this error (a Koine error, or anything that was raised).
function methods:fail(err)
  if not errors.is_error(err) then err = errors.new { kind = "other", message = tostring(err) } end
  self:worsen("error", tostring(err), err)
end

local FINE = { end_turn = true, stop_sequence = true, max_tokens = true }
local BLOCKS = { refusal = true, sensitive = true }

--- Enters a model's stop reason (canonical; nil: none was given).
function methods:stopped(stop_reason)
  if stop_reason == "max_tokens" then self.truncated = true end
  if BLOCKS[stop_reason] then
    self:worsen("blocked", stop_reason)
  elseif stop_reason ~= nil and not FINE[stop_reason] then
    self:fail(errors.new { kind = "other", message = "the model stopped: " .. stop_reason })
  end
end

--- Enters that the last answer (Response) has not the value that was asked for, as its output_error says.
function methods:unanswered(response)
  if response.output_error.code == "refused" then self:worsen("blocked", "refusal")
  else self:fail(failure(response)) end
end

--- Blocked when the text holds one of the phrases (array, lower case).
function methods:asked(text, phrases)
  text = text:lower()
  for _, phrase in ipairs(phrases) do
    if text:find(phrase, 1, true) then return self:worsen("blocked", "asks for a human: " .. phrase) end
  end
end

return outcomes
