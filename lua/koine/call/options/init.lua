--- Options: every name that constructors and calls take, what its value must be, and how the layers combine.
-- A call's option wins over the constructor's, the constructor's over the row's. Everything is checked before any
-- traffic; a bad value raises an ArgumentError whose `field` is the option's name (`timeout.idle`, `headers.x-team`),
-- an unknown name one that suggests the nearest. The caller's tables are never changed.
--
-- Of constructors and calls:
--   max_tokens      integer, 0 or more
--   thinking        false, "low", "medium", "high", a further word of the model's row, or {budget_tokens = integer};
--                   {enabled = false} and a budget of 0 are false
--   temperature     number from 0 to 2;  top_p, min_p  number from 0 to 1;  top_k  integer, 1 or more
--   seed            integer from 0 to 2147483647, which every provider with seeds takes
--   logprobs        true, or integer from 0 to 20: the alternatives to each token that are told, too (true: 0)
--   stop_sequences  array of non-empty strings
--   cache_retention "none", "short" (5 minutes), "long" (1 hour)
--   metadata        table, e.g. {user_id = "u"};  betas  string or array of strings
--   extra           table: further fields of the request's body; they replace none
--   headers         {name = value}: strings; names ignore case
--   timeout         number: seconds in total; or {connect = 30, first_byte = 600, idle = 300, total = no limit}:
--                   seconds each, 0 = no limit
--   limits          {line, event, body, decoded, argument_bytes, high_water = bytes; depth, at most
--                   core.depth_max, so that every answer can go back, blocks, tool_calls = counts}
--   retry           false, or {max = 2 retries, max_delay = 60 seconds, on_ambiguous = true}
--   on_retry        function of a failed attempt's record {status_code, class, kind, waited}, before each wait
--   on_request, on_response  functions that are shown each request and its answer as they are (net/raw)
--   keep_raw        boolean: a stream's body is kept for response:raw()
-- Of constructors: model (string, required), key (string, or function → string, or nil and why), base_url, quirks
-- (table), http2 (boolean; true from libcurl 8.14 on), proxy (URL, "" = none), ca_file (path), rate_limiter (object
-- with a method wait), transport (object with a method begin, see net/transport.lua), clock (object with now and park).
-- Of embed: timeout, limits, retry, on_retry, on_request, on_response, headers and extra as above (extra of that call
-- alone), and
--   model           name of an embedding model; the row's where it has one. The constructor's is for chats
--   dimensions      integer: wished width of the vectors; the model's own
--   purpose         "query", "document", "similarity", "classification", "clustering", "code_query"
--   title           string: of a document, where the provider takes one
--   truncate        false: a text that is too long is an error; "end" or "start": the server cuts it, where it can
--   as              "table", or "packed": each vector a string of little-endian float32
--   normalize       true: the length of vectors is made 1 where the provider did not
--   prefix          string that goes before every text
--   truncate_client true: vectors wider than `dimensions` are cut here
--   batch           integer: inputs of a request, at most; parallel  integer: requests in flight at once
-- Of calls: system (string or array of text blocks), tools (array of tool definitions), tool_choice ("auto", "any",
-- "none" or {type = "tool", name = string}), stream (boolean), on_delta (function of one delta), output (table: the
-- shape of the answer, see output/option.lua).

local core = require "koine.core"
local errors = require "koine.data.errors"
local sorted = require "koine.data.check.sorted"

local options = {}

local DEFAULTS = {
  timeout = { connect = 30, first_byte = 600, idle = 300 },
  retry = { max = 2, max_delay = 60, on_ambiguous = true },
}

-- The names ---------------------------------------------------------------------------------------------------------

-- Sets: what their values must be is in values.lua, which is loaded when a value is first looked at.

local function set(words)
  local names = {}
  for word in words:gmatch "%S+" do names[word] = true end
  return names
end

-- Taken by constructors and by calls: what goes to the provider, a member of the request of the same name (codec.h), …
local SENT = set [[max_tokens thinking temperature top_p top_k min_p seed logprobs stop_sequences cache_retention
  metadata betas extra]]

-- … and what does not.
local KEPT = set "timeout limits retry on_retry headers keep_raw parent on_request on_response"

local CONSTRUCTOR = set [[model key base_url quirks http2 proxy ca_file observer rate_limiter transport clock]]

-- Taken by calls alone: the same two kinds.
local CALL_SENT = set "system tools tool_choice"
local CALL_KEPT = set "stream on_delta output"

-- A new table: what `below` holds, and over it what `above` holds.
local function merge(above, below)
  local merged = {}
  for name, value in next, below or {} do merged[name] = value end
  for name, value in next, above do merged[name] = value end
  return merged
end

local BOTH = merge(SENT, KEPT)
local CALL = merge(merge(CALL_SENT, CALL_KEPT), BOTH)
CONSTRUCTOR = merge(CONSTRUCTOR, BOTH)

local REQUEST = {} -- the names of those that are sent
for name in next, merge(SENT, CALL_SENT) do REQUEST[#REQUEST + 1] = name end

-- Where options are tables of their own, the layers combine name by name.
local MERGED = { timeout = true, limits = true, retry = true, headers = true }

-- Raises an ArgumentError at `field` for an option that stands in `elsewhere`, and for an unknown one.
local function check_known(name, known, elsewhere, where, field)
  if known[name] then return end
  if not elsewhere[name] then
    local hints = require "koine.call.options.hints"(name, known, elsewhere, where)
    require("koine.data.check").unknown("option", name, known, field, hints)
  end
  field = field or name
  core.raise(errors.new { kind = "argument", field = field, expected = "an option of " .. where,
    message = ("%s: this is an option of %s"):format(field, where) })
end

local A_CALL = "the constructor, not of a call"

--- Puts what goes to the provider of a call's settings into its canonical request.
function options.fill(request, settings)
  local names = settings.sent or REQUEST
  for i = 1, #names do
    local name = names[i]
    local value = settings[name]
    if value ~= nil then request[name] = value end
  end
end

--- Whether calls have an option of that name.
function options.is_call(name) return CALL[name] ~= nil end

--- Raises an ArgumentError at `field` unless calls have an option of that name. The call checks its value: that depends
-- on the model.
function options.check_name(name, field) check_known(name, CALL, CONSTRUCTOR, A_CALL, field) end

--- The options of calls: {name = true}.
options.of_call = CALL

--- Those that constructors and calls take and that are not sent: {name = true}.
options.kept = KEPT

-- Whether an option is the model, and good: most constructors are given nothing else.
local function is_model(name, value) return name == "model" and type(value) == "string" and value:find "%S" ~= nil end

--- Checks `given` against `known` ({name = true, or a checker that values.lua does not have}) and puts it over what
-- `settings` inherits. Returns the settings. `elsewhere` has the options of other functions; an error for one of them
-- says `where` it belongs: "chat and open, not of embed". Raises an ArgumentError naming the first bad option.
function options.take(settings, given, known, elsewhere, where)
  if type(given) ~= "table" then require("koine.data.check").refuse("options", "table", given) end
  local names = sorted(given)
  for _, name in ipairs(names) do check_known(name, known, elsewhere, where) end
  for _, name in ipairs(names) do
    local kept, checker = given[name], known[name]
    if not is_model(name, kept) then
      if checker == true then checker = require "koine.call.options.values"[name] end
      kept = checker(kept, name, settings)
    end
    settings[name] = MERGED[name] and merge(kept, settings[name]) or kept
  end
  return settings
end

-- The names of the settings that are sent, so that a call without options need not look for the others.
local function sent_of(settings)
  local names = {}
  for _, name in ipairs(REQUEST) do
    if settings[name] ~= nil then names[#names + 1] = name end
  end
  return names
end

--- Checks a constructor's options and returns the settings of an adapter: the options given, over the defaults.
-- `info` is the model's row (its `efforts` are accepted as thinking), `special` the options that only this row takes:
-- see special.lua. Raises an ArgumentError naming the first bad one.
function options.constructor(given, info, special)
  local known = special and merge(require "koine.call.options.special"(special), CONSTRUCTOR) or CONSTRUCTOR
  local settings = { timeout = DEFAULTS.timeout, retry = DEFAULTS.retry, model_info = info }
  settings.inherited = { __index = settings } -- the metatable of every call's settings
  options.take(settings, given, known, CALL, "chat, stream, open and object, not of the constructor")
  settings.sent = sent_of(settings)
  return settings
end

--- Checks a call's options and returns its settings: they inherit from the adapter's. nil given: the adapter's own.
-- Raises an ArgumentError naming the first bad one.
function options.call(given, settings)
  if given == nil then return settings end
  return options.take(setmetatable({ sent = false }, settings.inherited), given, CALL, CONSTRUCTOR, A_CALL)
end

return options
