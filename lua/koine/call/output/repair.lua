--- Repair: what a model is told about an answer that does not fit, so that it answers again. An answer that was cut or
-- refused is not asked for again: a second one costs the same and ends the same.

local cut = require("koine.data.text").cut

local repair = {}

local REPAIRABLE = { not_json = true, invalid = true, empty = true }
local WORDS_MAX = 1000 -- bytes about what is wrong

--- Whether another answer may mend what is wrong: `problem` is a Response's output_error.
function repair.may_help(problem) return problem ~= nil and REPAIRABLE[problem.code] == true end

local function words_of(problem)
  local what = problem.path and problem.path ~= "" and ("%s: %s"):format(problem.path, problem.message)
    or problem.message
  local said, is_cut = cut(what, WORDS_MAX)
  return ("The answer does not fit: %s%s\nAnswer again with the whole corrected JSON."):format(said,
    is_cut and "…" or "")
end

-- The id of the call that held the answer, or nil.
local function answered_by(response)
  for _, block in ipairs(response.content) do
    if block.type == "tool_use" and block.output then return block.id end
  end
end

--- The history with an answer (Response) that does not fit and what is wrong with it: a new array, which begins with
-- `messages`. An answer without anything in it is not repeated.
function repair.messages(messages, response, problem)
  local longer = table.move(messages, 1, #messages, 1, {})
  local words, id = words_of(problem), answered_by(response)
  local content = words
  if id then content = { { type = "tool_result", tool_use_id = id, content = words, is_error = true } } end
  if #response.content > 0 then longer[#longer + 1] = response:message() end
  longer[#longer + 1] = { role = "user", content = content }
  return longer
end

--- The same for a text that the provider did not let pass: `problem` is {message}.
function repair.texts(messages, text, problem)
  local longer = table.move(messages, 1, #messages, 1, {})
  if text:find "%S" then longer[#longer + 1] = { role = "assistant", content = text } end
  longer[#longer + 1] = { role = "user", content = words_of(problem) }
  return longer
end

return repair
