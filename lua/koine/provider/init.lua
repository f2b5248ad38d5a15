--- Providers as data: finding a row, the model facts in it, and the model a name means.
-- A row (rows/NAME.lua) holds all that is known of a provider. Its fields:
--   name, title       in errors and replayed blocks; for people
--   telemetry         its name in OpenTelemetry's conventions, where that is not `name`
--   codec, base_url   the wire format, which says what a chat appends to the URL
--   base_urls         forms of an address that the caller gives; base_url is nil then. In capitals: the caller's
--   blanks            {NAME = variable}: {NAME} in base_url is the option of that name, else the variable
--   list              path of the list of models; false: there is none
--   show              path that tells of one model; nil: there is none
--   loaded            path of the list of models that the server has loaded; nil: there is none
--   pull              wire format of downloads, where the provider runs models itself; nil: it does not
--   chat              false where it only embeds: `codec` reads its errors then
--   embed             facts about its embeddings: {path = behind the base URL, with {model} where the model's name
--                     goes, base_url (where that is another one than for chats), dialect = name of a file in
--                     call/embed/dialects, model = the default (nil: none), batch, tokens = most inputs and tokens of
--                     a request, base64 = true where it is asked for, dtype = what base64 holds (nil: float32),
--                     dimensions = field of the width (nil: "dimensions"), truncation = field that says whether long
--                     texts are cut, purposes = {purpose = word of input_type}, wrap = {purpose = text with {text} and
--                     {title}}, in_path = true where the body does not name the model, head = pattern of what goes from
--                     before its name, tokens_header, not_found, hint (call/embed/refusal.lua), substitutes = true
--                     where another model may answer, models = array of {prefix, …}: fields for models}; nil: it has
--   none counts            true where it counts tokens when asked
--   env               array of the variables that may hold the key, or the path of a file with it
--   auth              "bearer", "x-api-key", "api-key", "x-goog-api-key", "none", or the name of a module in auth/, for
--                     which `login` is a table of facts
--   key_optional      true where it goes without a key
--   rank              1, 2, …: whose key is looked for first where a user names no provider; nil: after these
--   default_model     nil: the constructor's option model is required
--   headers, quirks   of every request; codec.h
--   id_header         header of an answer that holds the request's id, where it is neither request-id nor x-request-id
--   plain_max_tokens  a plain answer may not be longer: such chats stream inside
--   options           constructor options of its own: call/options/special.lua
--   apis, api         name → fields that replace the row's; the default
--   heads             patterns of what may stand before a model's id in `models`, in this order
--   service, list_base_url  of auth "sigv4": what to sign for; the address of lists, where that is another one.
--                     Addresses may have {region} in them
--   express_base_url, places  of auth "google": the address with a key; addresses of models with these names, an array
--                     of {model = pattern, part = what an address of the caller's may not have then, base_url,
--                     express_base_url}. Addresses may have {host}, {location} and {project} in them
--   variables         of auth "google": project, location → variable that is looked at before Google's own
--   failed_output     {code, field}: the code of a refusal of an answer that does not fit the schema, and the
--                     member of the error that holds what the model wrote
--   output_extra      what goes into the option `extra` where an answer's shape is asked for in the wire's own field;
--                     what the caller has there wins, also within a table
--   own_ids           patterns of model ids that begin with the row's own name and a slash
--   models, models_checked  see below; date
--   source            "recordings" or "documentation"
--   seen              what recorded answers show, and what is from documentation alone, in words; nil: nothing, and
--                     everything
--   says              cells of the pages' tables that do not follow from the other fields: tools/generate.lua
-- `models` is an array of {prefix, context, max_output, thinking, efforts, vision, price, multiplier, quirks}: the
-- longest prefix of the model id counts; thinking is "budget", "adaptive", "effort", "level" or "none"; price is USD
-- per million tokens {input, output, cache_read, cache_write (where there are two lifetimes the short one),
-- cache_write_1h}, and holds for the id that the prefix is and its dated versions alone; multiplier premium requests
-- per request; quirks go over the row's.

local core = require "koine.core"
local errors = require "koine.data.errors"
local getenv = require "koine.data.host.getenv"

local rows = {}

--- The names of all rows, sorted.
rows.names = require "koine.provider.names"

local known = {}
for _, name in ipairs(rows.names) do known[name] = true end

--- The row of that name. Raises an ArgumentError with the field `name` for any other that says which is meant: that of
-- the model with this id, or the nearest.
function rows.load(name)
  if not known[name] then require "koine.provider.unknown".refuse(rows, name) end
  return require("koine.provider.rows." .. name)
end

--- The name that OpenTelemetry's conventions have for the provider of that name, which is its own where they have none.
function rows.telemetry(name) return known[name] and rows.load(name).telemetry or name end

--- The model id that goes to the provider: "ROW/MODEL" loses its prefix when it names this row and a model is left.
function rows.model_id(row, id)
  local prefix = row.name .. "/"
  if id:sub(1, #prefix) ~= prefix or not id:find("%S", #prefix + 1) then return id end
  for _, pattern in ipairs(row.own_ids or {}) do
    if id:find(pattern) then return id end
  end
  return id:sub(#prefix + 1)
end

local NOTHING_KNOWN = {}

-- The id without what may stand before it.
local function bare(row, id)
  for _, pattern in ipairs(row.heads or {}) do id = id:gsub(pattern, "", 1) end
  return id
end

--- The row's facts about a model: the entry with the longest prefix, or an empty table.
function rows.model(row, id)
  local best = NOTHING_KNOWN
  id = bare(row, id)
  for _, entry in ipairs(row.models or {}) do
    local prefix = entry.prefix
    if id:sub(1, #prefix) == prefix and #prefix > #(best.prefix or "") then best = entry end
  end
  return best
end

-- The dates of versions, as providers write them, that may follow the id of a model that has a price.
local DATES = { "^[-@]%d%d%d%d%-[01]%d%-[0-3]%d$", "^[-@]%d%d%d%d[01]%d[0-3]%d$" }

--- The row's facts about exactly this model, whatever its date: rows.model's entry, or an empty table. A longer name
-- that begins the same is another model, at another price.
function rows.family(row, id)
  local info = rows.model(row, id)
  local rest = bare(row, id):sub(#(info.prefix or "") + 1)
  for _, date in ipairs(DATES) do
    if rest == "" or rest:find(date) then return info end
  end
  return NOTHING_KNOWN
end

--- The price in a model's entry (of rows.family) as a ModelPricing record's fields, nil when it has none.
function rows.pricing(info)
  local price = info.price
  return price and { input_per_mtok = price.input, output_per_mtok = price.output,
    cache_read_per_mtok = price.cache_read, cache_write_per_mtok = price.cache_write,
    cache_write_1h_per_mtok = price.cache_write_1h }
end

--- The row as a constructor's options want it: the fields of one of its `apis` put in place, name and auth replaced
-- where the row lets the caller choose them. Raises an ArgumentError for an unknown api; other options are not looked
-- at.
function rows.chosen(row, given)
  if not row.options then return row end
  local fields = {}
  if row.apis then
    fields = row.apis[given.api or row.api] or require("koine.data.check").unknown("api", given.api, row.apis, "api")
  end
  local whole = {}
  for name, value in pairs(row) do whole[name] = value end
  for name, value in pairs(fields) do whole[name] = value end
  for _, name in ipairs(row.options) do
    if type(given[name]) == "string" then whole[name] = given[name] end
  end
  if whole.name ~= row.name then whole.title = whole.name end
  return whole
end

--- A row's base URL with its blanks filled in from a constructor's settings or the environment; nil where the row has
-- none. Raises an ArgumentError that names the option of a blank about which neither says anything, or nothing fit for
-- an address.
function rows.base_url(row, settings)
  local url = row.base_url
  for name, variable in pairs(url and row.blanks or {}) do
    local value, expected = settings[name], "part of a host's name"
    if value == nil then value = getenv(variable) end
    if value == nil or value == "" then
      core.raise_argument(name, ("%s, here or in %s"):format(expected, variable), "nothing")
    end
    if not value:find "^[%w-]+$" then errors.argument(name, expected, value) end
    url = url:gsub("{" .. name .. "}", value)
  end
  return url
end

return rows
