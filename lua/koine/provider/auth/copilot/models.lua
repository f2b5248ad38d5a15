--- Turns an entry of Copilot's list of models into the fields of a ModelInfo.

local core = require "koine.core"

local models = {}

local function object(value) return type(value) == "table" and value or {} end

local function text(value) return type(value) == "string" and value:find "%S" and value or nil end

-- True for models that hold conversations: type is absent, "chat", or an array with "chat" in it.
local function converses(kind)
  if type(kind) ~= "table" then return kind == nil or kind == core.null or kind == "chat" end
  for _, word in ipairs(kind) do
    if word == "chat" then return true end
  end
  return false
end

local function count(value)
  local whole = math.type(value) and math.tointeger(value)
  return whole and whole > 0 and whole or nil
end

-- Those of the members that are there; nil when none is.
local function pick(from, ...)
  local picked
  for _, name in ipairs { ... } do
    local value = from[name]
    if value ~= nil and value ~= core.null then
      picked = picked or {}
      picked[name] = value
    end
  end
  return picked
end

-- The members that a ModelInfo has no field for, under the wire's own names.
local function extra(entry, capabilities, billing)
  local kept = pick(entry, "supported_endpoints", "vendor", "preview", "is_chat_default") or {}
  kept.tokenizer = text(capabilities.tokenizer)
  kept.limits = pick(object(capabilities.limits), "max_output_tokens", "max_prompt_tokens")
  kept.supports = pick(object(capabilities.supports), "parallel_tool_calls", "reasoning_effort", "adaptive_thinking")
  kept.policy = pick(object(entry.policy), "state")
  kept.billing = pick(billing, "is_premium", "restricted_to")
  return kept
end

-- The premium requests that one request costs: the list's word; where it says that the model is billed and not how
-- much, the row's.
local function multiplier(billing, info)
  if type(billing.multiplier) == "number" then return billing.multiplier end
  return next(billing) ~= nil and info.multiplier or nil
end

--- The fields of a ModelInfo for an entry with an id; nil when the entry is none to choose or is malformed.
-- `info` (the row's entry) may know the context where the entry does not say it.
function models.fields(entry, info)
  local capabilities, billing = object(entry.capabilities), object(entry.billing)
  if entry.model_picker_enabled ~= true or not converses(capabilities.type) then return nil end
  local limits, supports = object(capabilities.limits), object(capabilities.supports)
  return {
    id = entry.id,
    name = text(entry.name) or entry.id,
    max_context_tokens = count(limits.max_context_window_tokens) or info.context or 0,
    supports_vision = supports.vision == true,
    supports_tool_use = supports.tool_calls == true,
    supports_streaming = supports.streaming == true,
    premium_request_multiplier = multiplier(billing, info),
    extra = extra(entry, capabilities, billing),
  }
end

return models
