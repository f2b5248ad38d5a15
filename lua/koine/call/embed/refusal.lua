--- Refusals: what the words of an embedding server's error mean. Servers of one format have the most different statuses
-- for the same: the words tell.

local core = require "koine.core"
local cut = require("koine.data.text").cut

local refusal = {}

-- Of a text that is too long, …
local TOO_LONG = { "maximum context length", "too long", "input length exceeds", "must have less than", "token limit",
  "input is too large to process" }
-- … of too many texts at once, …
local TOO_MANY = { "batch", "too many inputs", "max_tokens_per_request", "at most", "too many tokens" }
-- … of a server or model that embeds nothing.
local CANNOT = { "does not support embedding" }

-- Statuses with which servers refuse a text.
local OF_INPUT = { [400] = true, [413] = true, [422] = true, [500] = true }

local MESSAGE_MAX = 400 -- bytes of a message that words follow

local function says(err, phrases)
  local words = (err.message .. " " .. (err.code or "")):lower()
  for _, phrase in ipairs(phrases) do
    if words:find(phrase, 1, true) then return true end
  end
  return false
end

local function set(err, kind)
  err.kind, err.class, err.retryable = kind, core.error_class(kind, err.status_code), false
end

-- Adds words to an error's message.
local function add(err, words)
  local said, was_cut = cut(err.message, MESSAGE_MAX)
  err.message = core.error_line(("%s%s (%s)"):format(said, was_cut and "…" or "", words))
end

--- Gives an error the kind that its words say. facts: the row's; they may have `not_found`, an array of what it says of
-- models that it does not have, and `hint`, what to do about a server that embeds nothing.
function refusal.judge(err, facts)
  local status = err.status_code
  if not status or status < 400 then return end
  if says(err, CANNOT) then
    set(err, "invalid_request")
    err.code = "capability"
    if facts.hint then add(err, facts.hint) end
  elseif (status == 400 or status == 422) and facts.not_found and says(err, facts.not_found) then
    set(err, "not_found")
  elseif OF_INPUT[status] and err.kind ~= "auth" and says(err, TOO_LONG) then
    set(err, "context_overflow")
  end
end

--- Whether the error says that a request had too many inputs, or too many tokens in all (the second result).
function refusal.is_size(err)
  if err.status_code ~= 400 and err.status_code ~= 413 or says(err, TOO_LONG) then return false end
  return err.status_code == 413 or says(err, TOO_MANY), says(err, { "token" })
end

--- Says in the error of a batch that no smaller one can be made of it: the text is too long.
function refusal.overflow(err) set(err, "context_overflow") end

--- Names the inputs of a batch in its error.
function refusal.name_inputs(err, first, last)
  if first < last then add(err, ("inputs %d to %d"):format(first, last)) end
end

return refusal
