--- Asks providers about their models: the list of them, and how many tokens a request has.

local core = require "koine.core"
local attempt = require "koine.call.attempt"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local member = require "koine.call.member"
local percent = require("koine.data.text").percent
local records = require "koine.data.records"
local rows = require "koine.provider"

local models = {}

local PAGES_MAX = 100 -- of a paged list; a provider that never says it is over is not followed for ever

-- The first of the values that is a positive integer.
local function count(...)
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    local whole = math.type(value) and math.tointeger(value)
    if whole and whole > 0 then return whole end
  end
end

local function text(value) return type(value) == "string" and value:find "%S" and value or nil end

-- A model of Gemini's list in the words of the others; nil for one that answers no chat.
local function gemini_model(entry)
  local name = type(entry) == "table" and text(entry.name)
  for _, method in ipairs(name and type(entry.supportedGenerationMethods) == "table"
    and entry.supportedGenerationMethods or {}) do
    if method == "generateContent" then
      return { id = name:gsub("^models/", ""), name = entry.displayName, max_input_tokens = entry.inputTokenLimit }
    end
  end
end

-- How a wire format answers, by codec. `after` gives what the next page of a list is asked for with, nil at its end;
-- without it a list has one page. `page` is the name that goes with it. `list` is the field of a list, nil: `data`, or
-- the answer is one. `model` makes an entry one of those that fields_of reads. `id` is the field of an entry's id, nil:
-- `id`. `count` is the field of a count; `uncounted` is true for the error of a model that cannot count.
-- Entries differ by server, not by wire: fields_of reads all.
local WIRES = {
  anthropic = {
    after = function(answer) return answer.has_more == true and text(answer.last_id) or nil end,
    page = "after_id", count = "input_tokens",
  },
  bedrock = {
    list = "modelSummaries",
    id = "modelId",
    count = "inputTokens",
    uncounted = function(err) return err.status_code == 400 and err.kind == "invalid_request" end,
  },
  gemini = {
    after = function(answer) return text(answer.nextPageToken) end,
    page = "pageToken", list = "models", model = gemini_model, count = "totalTokens",
  },
  ollama = { list = "models", id = "model" },
  responses = { count = "input_tokens" },
}
WIRES.bedrock_invoke = WIRES.bedrock

local USUAL = {} -- what Chat and every format without an entry have

local function wire_of(row) return WIRES[row.codec] or USUAL end

local function or_else(value, default)
  if value == nil then return default end
  return value
end

-- True or false when the entry lists what the model can do, nil when it does not.
local function lists(entry, capability)
  if getmetatable(entry.capabilities) ~= core.array_mt then return nil end
  for _, name in ipairs(entry.capabilities) do
    if name == capability then return true end
  end
  return false
end

-- True or false when the entry says whether images go in, nil when it does not.
local function sees_images(entry)
  local listed = lists(entry, "vision")
  if listed ~= nil then return listed end
  local flag = or_else(member(entry, "capabilities", "vision"), member(entry, "capabilities", "image_input"))
  if type(flag) == "table" then flag = flag.supported end
  if type(flag) == "boolean" then return flag end
  local inputs = member(entry, "architecture", "input_modalities") or entry.input_modalities or entry.inputModalities
  if type(inputs) ~= "table" then return nil end
  for _, input in ipairs(inputs) do
    if text(input) and input:lower() == "image" then return true end
  end
  return false
end

-- True or false when the entry says whether it calls tools, nil when it does not.
local function calls_tools(entry)
  local listed = lists(entry, "tools")
  if listed ~= nil then return listed end
  local flag = member(entry, "capabilities", "function_calling")
  if type(flag) == "boolean" then return flag end
  if type(entry.supported_parameters) ~= "table" then return nil end
  for _, parameter in ipairs(entry.supported_parameters) do
    if parameter == "tools" then return true end
  end
  return false
end

-- A model's price as a record, nil when the row has none.
local function pricing(row, id)
  local price = rows.pricing(rows.family(row, id))
  return price and records.model_pricing(price)
end

-- One entry of a list as the fields of a ModelInfo, nil when it has no id. What the entry does not say, the row may
-- know.
local function fields_of(adapter, state, entry)
  local id = type(entry) == "table" and text(entry[wire_of(state.row).id or "id"])
  if not id then return nil end
  local info = rows.model(state.row, id)
  if state.auth and state.auth.model then return state.auth.model(adapter, entry, info) end
  return {
    id = id,
    name = text(entry.display_name) or text(entry.name) or text(entry.modelName) or id,
    max_context_tokens = count(entry.max_input_tokens, entry.context_length, entry.context_window,
      entry.max_context_length, entry.max_model_len, member(entry, "meta", "n_ctx"),
      member(entry, "meta", "n_ctx_train"), member(entry, "details", "context_length"), info.context) or 0,
    supports_vision = or_else(sees_images(entry), info.vision == true),
    supports_tool_use = or_else(calls_tools(entry), true),
    supports_streaming = entry.responseStreamingSupported ~= false,
    pricing = pricing(state.row, id),
  }
end

-- The address of the page that is asked for with `name` = `after`; nil: of the first.
local function page_path(path, name, after)
  if not after then return path end
  return path .. (path:find("?", 1, true) and "&" or "?") .. name .. "=" .. percent(after)
end

--- The models that the adapter's provider offers: an array of records.model_info in the provider's order; entries
-- without an id are left out. nil, err when the provider cannot be asked. Raises a NotImplementedError where it has no
-- list.
function models.list(adapter)
  local state = core.state(adapter)
  local row = state.row
  if not row.list then errors.not_implemented(row.title, "list_models") end
  local call = attempt.call(adapter, state, state.settings)
  local found, wire, after = {}, wire_of(row), nil
  for _ = 1, PAGES_MAX do
    local answer, err = attempt.fetch(call, "GET", page_path(row.list, wire.page, after))
    if not answer then return nil, err end
    local entries = answer[wire.list or "data"]
    for _, entry in ipairs(type(entries) == "table" and entries or answer) do
      if wire.model then entry = wire.model(entry) end
      local fields = fields_of(adapter, state, entry)
      found[#found + 1] = fields and records.model_info(fields)
    end
    after = wire.after and wire.after(answer)
    if not after then break end
  end
  return found
end

-- The size of a model's context among what a server says of it under "ARCHITECTURE.NAME".
local function context_of(details)
  local found = member(details, "model_info", "general.architecture")
  found = member(details, "model_info", tostring(found) .. ".context_length")
  if found ~= nil or type(details.model_info) ~= "table" then return found end
  for name, value in pairs(details.model_info) do
    if type(name) == "string" and name:find "%.context_length$" then return value end
  end
end

-- Finds the model among those that the server has loaded: {loaded_context = tokens}. nil where it is not loaded, or
-- the server does not say.
local function loaded(call, path, model)
  local answer, latest = attempt.fetch(call, "GET", path), model .. ":latest"
  for _, entry in ipairs(answer and type(answer.models) == "table" and answer.models or {}) do
    local name = type(entry) == "table" and (entry.model or entry.name)
    if name == model or name == latest then
      local context = count(entry.context_length)
      return context and { loaded_context = context }
    end
  end
end

--- Asks the adapter's provider about one model (nil: the adapter's own): a records.model_info, or nil, err. Raises a
-- NotImplementedError where it cannot be asked. `extra.loaded_context`: the size of the context that the server loaded
-- it with, nil where it is not loaded.
function models.info(adapter, model)
  local state = core.state(adapter)
  local row = state.row
  if not row.show then errors.not_implemented(row.title, "model_info") end
  if model ~= nil then check.name(model, "model") end
  model = model or state.model
  local call = attempt.call(adapter, state, state.settings)
  local answer, err = attempt.fetch(call, "POST", row.show, core.encode { model = model })
  if not answer then return nil, err end
  answer[wire_of(row).id or "id"], answer.context_length = model, context_of(answer)
  local fields = fields_of(adapter, state, answer)
  fields.extra = row.loaded and loaded(call, row.loaded, model) or nil
  return records.model_info(fields)
end

--- The number of input tokens that the provider counts for a canonical request: an integer, or nil, err.
function models.count(adapter, request, settings)
  local state = core.state(adapter)
  local body, rendered, _, _, path = adapter:render(request, "count")
  local call = attempt.call(adapter, state, settings)
  call.request, call.rendered, call.limited = request, rendered, true -- only chats and lists are limited
  local answer, err = attempt.fetch(call, "POST", path, body)
  local wire = wire_of(state.row)
  if not answer and wire.uncounted and wire.uncounted(err) then return -1 end
  if not answer then return nil, err end
  local field = wire.count
  local tokens = math.type(answer[field]) and math.tointeger(answer[field])
  if tokens then return tokens end
  return nil, errors.new { kind = "protocol", provider = state.row.name,
    message = ("%s: the answer to count_tokens has no integer %s"):format(state.row.title, field) }
end

return models
