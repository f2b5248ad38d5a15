--- Says why an answer ended other than by itself: refused, cut, or not whole for another reason.

local failure = require "koine.cli.failure"

local ending = {}

-- Stop reasons of an answer that ended by itself.
local WHOLE = { end_turn = true, stop_sequence = true }

-- Stop reason of an answer that the model or a filter refused → how it is said.
local REFUSALS = { refusal = "the model refused", sensitive = "a filter stopped the answer (sensitive)" }

-- Codes of warnings that say why a model or a filter refused.
local REASONS = { refusal = true, prompt_blocked = true }

--- Whether the model or a filter refused: by the stop reason of a Response.
function ending.is_refused(response) return REFUSALS[response.stop_reason] ~= nil end

--- Whether a warning of a Response belongs to its refusal, whose line has its words.
function ending.explains(response, warning)
  return ending.is_refused(response) and REASONS[warning.code] == true
end

--- The line for a Response that was refused, whatever its stop reason: with the words of the model or the provider.
function ending.refusal(response)
  local words = {}
  for _, warning in ipairs(response.warnings) do
    if REASONS[warning.code] then words[#words + 1] = warning.message end
  end
  for _, block in ipairs(response.content) do
    if block.type == "refusal" then words[#words + 1] = block.text end
  end
  return (REFUSALS[response.stop_reason] or REFUSALS.refusal) .. (words[1] and ": " .. table.concat(words, "; ") or "")
end

--- The line for the end of a Response, nil where it ended by itself; and the exit code.
function ending.of(response)
  local reason = response.stop_reason
  if WHOLE[reason] then return nil, 0 end
  if ending.is_refused(response) then return ending.refusal(response), failure.REFUSED end
  if reason == "max_tokens" then
    return "the answer was cut at its maximum (max_tokens): raise --max-tokens", 0
  end
  return ("the answer is not whole: %s"):format(reason), 0
end

return ending
