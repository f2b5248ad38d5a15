--- Repair: what a model is told about an answer that does not fit, so that it answers again. An answer that was cut or
-- refused is not asked for again: a second one costs the same and ends the same.

local cut = require("koine.data.text").cut

local repair = {}

local REPAIRABLE = { not_json = true, invalid = true, empty = true }
local WORDS_MAX = 1000 -- bytes about what is wrong

--- Whether another answer may mend what is wrong: `problem` is a Response's output_error.
function repair.may_help(problem) return problem ~= nil and REPAIRABLE[problem.code] == true end

-- What is wrong: the message of an answer that is no JSON, or empty, is a sentence of its own.
local function words_of(problem)
  local said, is_cut = cut(problem.message, WORDS_MAX)
  local is_sentence = problem.code == "not_json" or problem.code == "empty"
  said = is_sentence and said:gsub("^%l", string.upper) or "The answer does not fit: " .. said
  return ("%s%s\nAnswer again with the whole corrected JSON."):format(said, is_cut and "…" or "")
end

-- The results of an answer's calls, of which the first that holds the answer gets these words; nil where none does.
local function results_of(response, words)
  local results, told = {}, false
  for _, block in ipairs(response.content) do
    if block.type == "tool_use" then
      local content = not block.output and "The call was not executed." or told and "Call this tool once." or words
      told = told or block.output
      results[#results + 1] = { type = "tool_result", tool_use_id = block.id, content = content, is_error = true }
    end
  end
  return told and results or nil
end

--- The history with an answer (Response) that does not fit and what is wrong with it: a new array, which begins with
-- `messages`. An answer without anything in it is not repeated.
function repair.messages(messages, response, problem)
  local longer = table.move(messages, 1, #messages, 1, {})
  local words = words_of(problem)
  if #response.content > 0 then longer[#longer + 1] = response:message() end
  longer[#longer + 1] = { role = "user", content = results_of(response, words) or words }
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
