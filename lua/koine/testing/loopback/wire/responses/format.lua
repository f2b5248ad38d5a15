--- Strict validation of `text` of OpenAI Responses requests: the form of the answer, and how much of it. Pure.

local check = require "koine.testing.loopback.check"
local format = require "koine.testing.loopback.strict.format"

local set = check.set

local WORD = "Response input messages must contain the word 'json' in some form to use 'text.format' of type " ..
  "'json_object'."

--- Checks `text`; absent is fine. `ctx`: see items.lua.
return function(ctx)
  local text = ctx.body.text
  if text == nil or not ctx.check:object("text", text, set "format verbosity") then
    return
  end
  ctx.check:word("text.verbosity", text.verbosity, "low medium high")
  local asked = text.format
  if asked == nil or not ctx.check:object("text.format", asked, set "type name schema strict description", "type") then
    return
  end
  ctx.check:word("text.format.type", asked.type, "text json_object json_schema")
  if asked.type == "json_object" then
    format.check_word(ctx.check, ctx.body.input, WORD)
  elseif asked.type == "json_schema" then
    ctx.code = format.check(ctx.check, "text.format", asked) or ctx.code
  end
end
