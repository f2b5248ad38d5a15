--- Where a key comes from: what the caller gave as one, or what the environment holds.

local check = require "koine.data.check"
local errors = require "koine.data.errors"
local getenv = require "koine.data.host.getenv"

local key_source = {}

--- nil and the AuthenticationError of a row, with this message.
function key_source.refusal(row, message)
  return nil, errors.new { kind = "auth", provider = row.name, message = row.title .. ": " .. message }
end

--- The key out of the environment: the first of the row's variables that is set; nil when none is, or nil, err.
function key_source.from_environment(row)
  for _, variable in ipairs(row.env or {}) do
    local key = getenv(variable)
    if key and key ~= "" then
      local problem = check.key_problem(key)
      if problem then return key_source.refusal(row, ("the key in %s is %s"):format(variable, problem)) end
      return key
    end
  end
end

--- Calls the caller's function `f`, the value of the option `name`: returns what `checker` keeps of its result
-- (check.key), or nil, err: the function's own error, else an AuthenticationError, which does not show the result. An
-- error that the function raises goes on unchanged.
function key_source.from_function(row, name, f, checker)
  local given, why = f()
  if given == nil then
    if errors.is_error(why) then return nil, why end
    return key_source.refusal(row, ("the function %s returned nil%s"):format(name, why and ": " .. tostring(why) or ""))
  end
  local kept, unfit = errors.try(checker, given, name)
  if kept ~= nil then return kept end
  return key_source.refusal(row, "the function returned an unfit value: " .. errors.words(unfit))
end

--- The key that the caller gave: a string, nil when none was given, or nil, err when the function that gives it fails.
function key_source.given(row, settings)
  local given = settings.key
  if type(given) == "function" then return key_source.from_function(row, "key", given, check.key) end
  return given
end

return key_source
