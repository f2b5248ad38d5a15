--- adapter:object(messages, opts): a chat whose answer is a value. It works on every adapter, also those written in
-- Lua.

local errors = require "koine.data.errors"
local failure = require "koine.call.output.failure"
local options = require "koine.call.options"

--- The value and the Response, or nil, err: see call/adapter. Raises an ArgumentError where `opts` has no `output`: of
-- an option that calls do not have, where there is one.
return function(adapter, messages, opts)
  if opts ~= nil and type(opts) ~= "table" then
    errors.argument("options", 'table, as in {output = {schema = "name, age int"}}', opts)
  end
  if opts == nil or opts.output == nil then
    for name in next, opts or {} do options.check_name(name, name) end
    errors.argument("output", 'table {schema = JSON Schema}, or with a short text {schema = "name, age int"}', nil)
  end
  local response, err = adapter:chat(messages, opts)
  if not response then return nil, err end
  if not response.output_error and response.output ~= nil then return response.output, response end
  return nil, failure(response)
end
