--- Strict validation of `response_format` of OpenAI Chat Completions requests. Pure.

local check = require "koine.testing.loopback.check"
local format = require "koine.testing.loopback.strict.format"

local set = check.set

local WORD = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."

--- Checks the form that the answer is to have; absent is fine. `ctx`: see check.lua.
return function(ctx, body)
  local asked, path = body.response_format, "response_format"
  if asked == nil or not ctx.check:object(path, asked, set "type json_schema", "type") then
    return
  end
  ctx.check:word("response_format.type", asked.type, "text json_object json_schema")
  if asked.type == "json_object" then
    format.check_word(ctx.check, body.messages, WORD)
  end
  local named, at = asked.json_schema, "response_format.json_schema"
  if (asked.type == "json_schema") ~= (named ~= nil) then
    ctx.check:add(at, "expected where the type is json_schema, and only there")
  elseif named ~= nil and ctx.check:object(at, named, set "name description schema strict", "schema") then
    local bare = next(named) == "schema" and next(named, "schema") == nil
    ctx.code = format.check(ctx.check, at, named, bare) or ctx.code
  end
end
