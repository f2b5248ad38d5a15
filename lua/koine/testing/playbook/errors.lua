--- The errors of a playbook: three classes under PlaybookError, raised at the line of the caller.
-- err:is "PlaybookError" holds for all three, err:is "Error" as for every error.

local core = require "koine.core"
local errors = require "koine.data.errors"

local failures = {}

local function is(err, class) return class == err.class or class == "PlaybookError" or class == "Error" end

local function raise(class, fields)
  fields.class, fields.kind, fields.retryable, fields.is = class, "other", false, is
  core.raise(errors.new(fields))
end

--- "1st", "2nd", "3rd", "11th", …
function failures.ordinal(n)
  local last, teens = n % 10, n % 100
  if teens >= 11 and teens <= 13 then return n .. "th" end
  return n .. (last == 1 and "st" or last == 2 and "nd" or last == 3 and "rd" or "th")
end

--- Raises an InvalidPlaybookError with the fields of an ArgumentError: `field`, `expected`.
function failures.invalid(err)
  raise("InvalidPlaybookError", { field = err.field, expected = err.expected, message = errors.words(err) })
end

--- Raises a PlaybookExhaustedError: fields `total_steps`, `calls_made` (the one too many included).
function failures.exhausted(total_steps, calls_made)
  raise("PlaybookExhaustedError", { total_steps = total_steps, calls_made = calls_made,
    message = ("the playbook is exhausted: this is the %s call, and it has %d step%s"):format(
      failures.ordinal(calls_made), total_steps, total_steps == 1 and "" or "s") })
end

--- Raises an UnconsumedStepsError: fields `consumed`, `total_steps`, `remaining` (the ids of the steps left).
function failures.unconsumed(consumed, total_steps, remaining)
  raise("UnconsumedStepsError", { consumed = consumed, total_steps = total_steps, remaining = remaining,
    message = ("only %d/%d steps of the playbook were consumed; left: %s"):format(consumed, total_steps,
      table.concat(remaining, ", ")) })
end

return failures
