--- What a cassette does with a request: which mode holds, and what follows from it and from whether there is a file.

local errors = require "koine.data.errors"

local mode = {}

local WORDS = { replay = true, auto = true, extend = true, record = true, live = true }

--- The mode that holds: KOINE_CASSETTE, else "replay" where CI is set and not "", "0" or "false", else what the caller
-- says (nil: "auto"). Raises an ArgumentError for a variable that names no mode.
function mode.chosen(given)
  local variable = os.getenv "KOINE_CASSETTE"
  if variable and variable ~= "" then
    if not WORDS[variable] then
      errors.argument("KOINE_CASSETTE", "replay, auto, extend, record or live", variable)
    end
    return variable
  end
  local ci = os.getenv "CI"
  if ci and ci ~= "" and ci ~= "false" and ci ~= "0" then return "replay" end
  return given or "auto"
end

--- Whether recorded answers are played.
function mode.plays(chosen, has_file)
  return chosen == "replay" or has_file and (chosen == "auto" or chosen == "extend")
end

--- Whether answers that come are recorded.
function mode.records(chosen, has_file)
  return chosen == "record" or chosen == "extend" or chosen == "auto" and not has_file
end

return mode
