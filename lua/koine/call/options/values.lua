--- What the values of options must be: checkers, by the option's name. A part of init.lua, which calls them with the
-- value, the field of an error, and the settings at hand (`model_info` is the model's row).

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"

local values = {
  model = check.name, key = check.key_source, base_url = check.url, quirks = check.table, proxy = check.string,
  ca_file = check.credential_path, rate_limiter = check.method("wait", "object with a method wait"),
  clock = check.method("park", "object with methods now and park"),
  max_tokens = check.integer(0), temperature = check.number(0, 2), top_p = check.number(0, 1),
  cache_retention = check.one_of { "none", "short", "long" }, metadata = check.table, extra = check.table,
  seed = check.integer(0, 0x7fffffff), top_k = check.integer(1), min_p = check.number(0, 1),
  on_retry = check.func, keep_raw = check.boolean, on_request = check.func, on_response = check.func,
  stream = check.boolean, on_delta = check.func,
  -- The core checks the shapes of these together with the messages.
  system = check.either("string or array of text blocks", check.string, check.table), tools = check.table,
  tool_choice = check.either('"auto", "any", "none" or {type = "tool", name = …}', check.string, check.table),
}

--- See data/observer.
function values.observer(value, field) return require("koine.data.observer").option(value, field) end

--- See data/observer/context.lua.
function values.parent(value, field) return require("koine.data.observer").parent(value, field) end

--- See net/transport.lua.
function values.transport(value, field) return require("koine.net.transport").option(value, field) end

--- See call/output/option.lua.
function values.output(value, field) return require "koine.call.output.option"(value, field) end

--- Texts that end an answer, none of them empty.
values.stop_sequences = check.list(check.name, "array of strings")

local SECONDS = check.number(0, 1e9, "number of seconds, at most 1e9, 0 for no limit")

--- {name = value}; names come back in lower case, because HTTP ignores case.
values.headers = check.secret(check.that("table of strings", function(value, field)
  if type(value) ~= "table" then return nil end
  local kept = {}
  for _, name in ipairs(check.names(value)) do
    local text = value[name]
    if type(name) ~= "string" or not name:find "^[%w!#$%%&'*+%-.^_`|~]+$" then
      check.refuse(field, "header names made of letters, digits and dashes", name)
    end
    if type(text) ~= "string" or text:find "[\0-\8\10-\31\127]" then
      core.raise_argument(field .. "." .. name, "string without control characters",
        type(text) == "string" and "one with control characters" or errors.describe(text))
    end
    kept[name:lower()] = text
  end
  return kept
end))

--- Refused where this libcurl's HTTP/2 cannot be made safe.
function values.http2(value, field)
  if value == true and core.http2_problem then
    core.raise_argument(field, ("false (%s)"):format(core.http2_problem), "true")
  end
  return check.boolean(value, field)
end

local TIMEOUTS = check.record({ connect = SECONDS, first_byte = SECONDS, idle = SECONDS, total = SECONDS },
  "seconds in total, or a table of connect, first_byte, idle, total")

--- A number is `total`.
function values.timeout(value, field)
  return type(value) == "number" and { total = SECONDS(value, field) } or TIMEOUTS(value, field)
end

local POLICY = check.record({ max = check.integer(0), max_delay = SECONDS, on_ambiguous = check.boolean },
  "false, or a table of max, max_delay, on_ambiguous")

--- false: no second attempt.
function values.retry(value, field) return value == false and { max = 0 } or POLICY(value, field) end

local COUNT, BYTES = check.integer(1), check.integer(1)
local function DEPTH(value, field)
  local depth = COUNT(value, field)
  if depth > core.depth_max then errors.argument(field, ("at most %d"):format(core.depth_max), value) end
  return depth
end

--- Counts and bytes, 1 or more; no more depth than the core reads.
values.limits = check.record { line = BYTES, event = BYTES, body = BYTES, decoded = BYTES, argument_bytes = BYTES,
  high_water = BYTES, depth = DEPTH, blocks = COUNT, tool_calls = COUNT }

local EFFORTS = { low = true, medium = true, high = true }

--- True when the model at hand takes this word as `thinking`: low, medium, high, or one of its row's.
function values.knows_effort(settings, word)
  for _, effort in ipairs(settings.model_info.efforts or {}) do
    if effort == word then return true end
  end
  return EFFORTS[word] ~= nil
end

local function efforts_in_words(settings)
  local words = { '"low"', '"medium"', '"high"' }
  for _, effort in ipairs(settings.model_info.efforts or {}) do
    if not EFFORTS[effort] then words[#words + 1] = ("%q"):format(effort) end
  end
  return table.concat(words, ", ") .. ", {budget_tokens = n} or false"
end

local BUDGET = check.integer(0)
local BUDGETED = check.record { enabled = check.boolean, budget_tokens = BUDGET }
local OFF = check.record { enabled = check.boolean, budget_tokens = check.any }

--- Keeps false, a word, or {budget_tokens = n}; {enabled = false} and a budget of 0 are false (N19).
function values.thinking(value, field, settings)
  if value == false then return false end
  if type(value) == "string" and values.knows_effort(settings, value) then return value end
  if type(value) ~= "table" then errors.argument(field, efforts_in_words(settings), value) end
  if value.enabled == false then
    OFF(value, field)
    return false
  end
  local given = BUDGETED(value, field)
  local budget = BUDGET(given.budget_tokens, field .. ".budget_tokens")
  return budget > 0 and { budget_tokens = budget }
end

local LIST_OF_BETAS = check.list(check.name, "string or array of strings")

--- A string is an array of it alone.
function values.betas(value, field) return LIST_OF_BETAS(type(value) == "string" and { value } or value, field) end

--- Returns the number of alternatives.
values.logprobs = check.that("true, or integer from 0 to 20", function(value)
  local count = value == true and 0 or math.type(value) and math.tointeger(value)
  if count and count >= 0 and count <= 20 then return count end
end)

return values
