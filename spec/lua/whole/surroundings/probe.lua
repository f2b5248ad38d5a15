-- Prints what has an order of names, in the locale of its argument: the same in each.

local koine = require "koine"
local rate_limiter = require "koine.store.rate_limiter"
local sigv4 = require "koine.provider.auth.sigv4"

assert(os.setlocale(arg[1]), "no such locale") -- as programs do: later than the modules

local NAMES = { "a", "B", "A", "_", "Z", "z", "ch", "h", "c", "\u{e4}", "d" }

local function show(what, list) print(what, table.concat(list, " ")) end

-- A table with the names as keys.
local function object(value)
  local made = {}
  for _, name in ipairs(NAMES) do made[name] = value end
  return made
end

local engines = { memory = koine.store.memory {}, file = assert(koine.store.file { dir = arg[2] .. "/store" }) }
if pcall(require, "luasql.sqlite3") then
  local sqlite = require "spec.lua.store.sql.sqlite"
  local conn = sqlite.connect(arg[2] .. "/database")
  sqlite.run(conn, koine.store.schema "sqlite")
  engines.sqlite = koine.store.sql { dialect = "sqlite", query = sqlite.query_of(conn) }
end
for _, name in ipairs { "memory", "file", "sqlite" } do
  local store, after = engines[name], nil
  for _, key in ipairs(store and NAMES or {}) do assert(store:put("k" .. key, "v")) end
  while store do
    local page
    page, after = assert(store:list("k", { limit = 4, after = after }))
    show(name, page)
    if not after then break end
  end
  if store then show(name, store:list("k", { after = "Z" })) end
end
local time = 0
local report = koine.testing.store_contract.run { unit = 10, seeds = { 1 }, pass = function(s) time = time + s end,
  open = function()
    engines.reference = engines.reference or koine.store.memory { clock = function() return time end }
    return koine.store.memory { same_as = engines.reference }
  end }
print(report.failed, report.text)

rate_limiter.clock = function() return 1764000000.25 end
local limit = { rate_limit_path = arg[2] .. "/limit", rate_limit = { requests = 1, period = 60 } }
print("limit", rate_limiter.new(limit):wait(0), rate_limiter.new(limit):wait(0))
local file <close> = assert(io.open(arg[2] .. "/limit"))
print("limit", file:read "a")

show("example", koine.schema.expand(object "x").required)
print("first fault", select(2, koine.schema.validate({ type = "object", additionalProperties = false }, object(1))))
print("unique", koine.schema.validate({ type = "array", uniqueItems = true }, { object(1), object(1) }))
print("field", select(2, pcall(koine.text, object(1))).field)
print("option", select(2, pcall(koine.store.memory, object(1))).field)
local query = {}
for i, name in ipairs(NAMES) do query[i] = name:gsub("[\128-\255]", "%%20") .. "=" .. i end
print("signature", select(2, sigv4.signed { method = "GET", url = "https://x.example/?" .. table.concat(query, "&"),
  headers = {}, body = "", keys = { access_key = "a", secret_key = "b" }, region = "r", service = "s", time = 0 }))
print("signature", select(2, sigv4.signed { method = "GET", url = "https://x.example/a\xE4?b=%E4",
  headers = {}, body = "", keys = { access_key = "a", secret_key = "b" }, region = "r", service = "s", time = 0 }))
