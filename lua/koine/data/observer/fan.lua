--- Fans: one observer that hands each record on to several, to each what it asks for. Nothing here fails.

local capture = require "koine.data.observer.capture"
local core = require "koine.core"
local delivery = require "koine.data.observer.delivery"

local takes_more, go_on = delivery.takes_more, delivery.go_on

-- The kind of content that records of a type have; all others have messages.
local KIND_OF = { tool = "tools", mcp = "tools", delta = "deltas" }

-- Whether one observer of several is not to be told: of what begins or happens where it takes no more, and of the end
-- of work whose beginning it was not told of.
local function refuses(hook, record)
  local phase, refused = record.phase, hook.refused
  if phase == "end" then
    local known = refused[record.id]
    refused[record.id] = nil
    return known
  end
  if takes_more(hook) then return false end
  if phase == "start" then refused[record.id] = true end
  return true
end

-- Hands a record to one observer, without content that this one does not capture.
local function hand(hook, record)
  if record.type == "cache_miss" and not hook.turns then return end
  if record.type == "delta" and not (hook.content and hook.content.deltas) then return end
  if refuses(hook, record) then return end
  local own = capture.copy(record)
  if not hook.content or not hook.content[KIND_OF[record.type] or "messages"] then own.content = nil end
  if hook.attributes then own.attributes = capture.copy(hook.attributes) end
  go_on(hook, own, hook.run(own))
end

-- One function that redacts as all of them do; nil for none.
local function redact_of(functions)
  if not functions[2] then return functions[1] end
  return function(words)
    for _, redact in ipairs(functions) do words = tostring(redact(words)) end
    return words
  end
end

--- The settings of one observer of several hooks (an array). It captures what any of them captures, as long as the
-- longest, redacted by all of them. Ids and times are the first one's.
return function(hooks)
  local first, functions = hooks[1], {}
  local made = { content = false, content_max = 0, ids = first and first.ids or core.random_hex,
    clock = first and first.clock or core.nanoseconds }
  for _, hook in ipairs(hooks) do
    made.turns = made.turns or hook.turns and {}
    for kind in next, hook.content or {} do
      made.content = made.content or {}
      made.content[kind], made.content_max = true, math.max(made.content_max, hook.content_max)
    end
    if hook.content then functions[#functions + 1] = hook.redact end
  end
  made.redact = redact_of(functions)
  function made.deliver(record)
    for _, hook in ipairs(hooks) do hand(hook, record) end
  end
  return made
end
