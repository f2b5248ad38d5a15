--- The error of a program that cannot go on without a value: of kind "output".

local errors = require "koine.data.errors"

-- What stands before the message of an output_error; the others are sentences of their own.
local BEFORE <const> = { invalid = "the answer does not fit: ", refused = "the model refused: " }

local function words_of(problem) return (BEFORE[problem.code] or "") .. problem.message end

--- Makes the error of a Response that holds no value: `code` is that of its output_error (nil: there is none, because
-- the answer ended for something else), `partial` the Response.
return function(response)
  local problem = response.output_error
  return errors.new { kind = "output", code = problem and problem.code, partial = response,
    provider = response.provider, request_id = response.request_id,
    message = problem and words_of(problem)
      or ("the answer has no value yet: the model stopped for %s"):format(response.stop_reason) }
end
