--- adapter:object(messages, opts): a chat whose answer is a value. It works on every adapter, also those written in
-- Lua.

local errors = require "koine.data.errors"
local options = require "koine.call.options"

--- The value and the Response, or nil, err: see adapter.lua. Raises an ArgumentError where `opts` has no `output`: of
-- an option that calls do not have, where there is one.
return function(adapter, messages, opts)
  if type(opts) ~= "table" or opts.output == nil then
    for name in next, type(opts) == "table" and opts or {} do options.check_name(name, name) end
    errors.argument("output", "table: {schema = JSON Schema}", nil)
  end
  local response, err = adapter:chat(messages, opts)
  if not response then return nil, err end
  local problem = response.output_error
  if not problem and response.output ~= nil then return response.output, response end
  return nil, errors.new { kind = "output", code = problem and problem.code, partial = response,
    provider = response.provider, request_id = response.request_id,
    message = problem and ("the answer has not the shape asked for: " .. problem.message)
      or ("the answer has no value yet: the model stopped for %s"):format(response.stop_reason) }
end
