--- Whether a call ended as it may: in a typed error of a kind that its fault explains, or in exactly the right answer;
-- in time; and without a byte of its key anywhere.

local koine = require "koine"

local deep = require "spec.support.deep"

local judge = {}

-- Classes and kinds that belong together.
local CLASSES = {
  AuthenticationError = "auth permission", RateLimitError = "rate_limit billing",
  ServerError = "overloaded server protocol timeout",
  RequestError = "invalid_request not_found too_large context_overflow",
  ConnectionError = "connect timeout stream_truncated", CancelledError = "cancelled", Error = "limit other",
}

local function open_response(value)
  local meta = getmetatable(value)
  if not meta or meta.__name ~= "koine.response" then return nil end
  return { value:to_table(), value:raw(), value:text() }
end

--- The first ten bytes of a key in a row that show in a text; nil when none do.
function judge.leak(key, text)
  for at = #"sk-chaos-" + 1, #key - 9, 5 do
    local part = key:sub(at, at + 9)
    if text:find(part, 1, true) then return part end
  end
end

local function check_partial(call, partial)
  if partial == nil then return end
  local text = partial:text()
  if partial.partial ~= true then return "a partial Response that does not say so" end
  local said = call.answers and call.answers[1].content or call.text
  if call.fault.act == "events_endless" then return end -- it says other things
  if type(said) == "string" and said:sub(1, #text) ~= text and call.text:sub(1, #text) ~= text then
    return ("partial text that was never said: %q"):format(text:sub(-40))
  end
end

local function check_error(call, err)
  if not koine.errors.is_error(err) then return "no error of Koine's: " .. tostring(err) end
  if not (" " .. (CLASSES[err.class] or "") .. " "):find(" " .. err.kind .. " ", 1, true) then
    return ("class %s with kind %s"):format(err.class, err.kind)
  end
  if not call.fault.kinds[err.kind] then return ("kind %s: %s"):format(err.kind, tostring(err)) end
  local line = tostring(err)
  if #line > 500 or line:find "[\r\n]" then return "a message that is no line" end
  if #(err.raw or "") > 65536 then return "raw beyond its cap" end
  return check_partial(call, err.partial)
end

local function check_response(call, response)
  local may = call.fault.answer or call.recovers and call.options.retry
  if not may then return "an answer" end
  if response:text() ~= call.text then return ("another text: %q"):format(response:text():sub(-60)) end
  if call.heard and call.heard ~= call.text then return "deltas that are another text" end
  if response.stop_reason ~= "end_turn" then return "stop reason " .. tostring(response.stop_reason) end
end

-- A loop that ended without an error has heard everything, unless it was left.
local function check_over(call)
  if call.way.name == "for" and call.heard ~= call.text then return "a loop that ended early" end
end

--- Returns the fault in the outcome of a call, nil for none; and the outcome in a word.
function judge.outcome(call)
  if call.hung then return ("it goes on long after %g s"):format(call.seconds), "hung" end
  if call.raised then return "raised: " .. tostring(call.raised), "raised" end
  local word = call.err and call.err.kind or call.response and "answer"
    or call.way.name == "for" and "answer" or "left"
  local wrong
  if call.err then
    wrong = check_error(call, call.err)
  elseif call.response then
    wrong = check_response(call, call.response)
  elseif call.over then
    wrong = check_over(call)
  else
    wrong = "nothing at all"
  end
  local text = deep.text({ call.err or call.response or "", tostring(call.adapter) }, open_response)
  if not wrong and judge.leak(call.key, text) then wrong = "the key shows" end
  return wrong, word
end

return judge
