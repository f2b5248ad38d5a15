--- Everything that can happen to a call, and how it may end. A fault is {name, kinds = set of the kinds of errors that
-- it may end in, answer = whether it may be the right answer (with no kinds it must), hangs = true where only a timeout
-- ends it, only = "streamed" where it means nothing to a plain answer, options = more options of the call}, and one of
--   script = function(die, number) → answer of the loopback provider
--   act = name in raw.lua
--   url = function(where) → format of a base URL, where = {raw, tls, closed = ports}; ca = true: ca_file is given

local answers = require "spec.chaos.answers"

local faults = {}

local function set(words)
  local kinds = {}
  for word in words:gmatch "[%w_]+" do kinds[word] = true end
  return kinds
end

local function add(name, kinds, fields)
  local fault = { name = name, kinds = set(kinds), answer = kinds:find "answer" ~= nil }
  fault.kinds.answer = nil
  if next(fault.kinds) == nil then fault.answer = true end
  for field, value in pairs(fields) do fault[field] = value end
  faults[#faults + 1] = fault
end

-- An answer that says what it must, with a fault in it.
local function spoken(make)
  return function(die, number) return { content = answers.text(number), fault = make and make(die) } end
end

-- The loopback provider ----------------------------------------------------------------------------------------------

add("none", "", { script = spoken() })
add("late", "", { script = spoken(function(die) return { delay_ms = die:between(1, 50) } end) })
add("one byte a write", "", { script = spoken(function() return { write_bytes = 1 } end) })
add("odd pieces", "", { script = spoken(function(die)
  return { split_at = { die:roll(50), 50 + die:roll(100), 150 + die:roll(300) } }
end) })
add("gzip", "", { script = spoken(function() return { gzip = true } end) })
add("gzip, one byte a write", "", { script = spoken(function() return { gzip = true, write_bytes = 1 } end) })
add("reset", "connect stream_truncated answer",
  { script = spoken(function(die) return { reset_after = die:roll(2000) - 1 } end) })
add("truncated", "connect stream_truncated answer",
  { script = spoken(function(die) return { truncate_after = die:roll(2000) - 1 } end) })
add("gzip, truncated", "connect stream_truncated protocol answer",
  { script = spoken(function(die) return { gzip = true, truncate_after = die:roll(300) - 1 } end) })
add("ends early", "connect stream_truncated protocol answer",
  { script = spoken(function(die) return { end_after = die:roll(2000) - 1 } end) })
add("stalls", "timeout answer", { hangs = true,
  script = spoken(function(die) return { stall_after = die:roll(2000) - 1 } end) })
add("too late", "timeout", { hangs = true, script = spoken(function() return { delay_ms = 600000 } end) })
add("gzip bomb", "limit", { options = { limits = { decoded = 1 << 20 } },
  script = spoken(function() return { gzip_bomb = 1 << 26 } end) })
add("long text, small limit", "limit", { options = { limits = { decoded = 4096 } },
  script = function(_, number) return { content = answers.text(number) .. ("and on "):rep(2000) } end })
add("long line, small limit", "limit", { only = "streamed", options = { limits = { line = 4096 } },
  script = function() return { content = ("word "):rep(4000), chunk = 8000 } end })
for status, kind in pairs { [400] = "invalid_request", [401] = "auth", [402] = "billing", [403] = "permission",
  [404] = "not_found", [413] = "too_large", [429] = "rate_limit", [500] = "server", [529] = "overloaded" } do
  add("status " .. status, kind, { script = function()
    return { error = { status = status, message = "no", headers = { ["retry-after-ms"] = "1" } } }
  end })
end
add("status 429, for long", "rate_limit", { script = function()
  return { error = { status = 429, headers = { ["retry-after"] = "86400" } } }
end })
add("an error with the key", "auth permission invalid_request", { script = function()
  return { error = { status = 401 }, fault = { echo_authorization = true } }
end })
add("an error that is HTML", "server overloaded", { script = function()
  return { error = { status = 502, body = "<html><title>Bad gateway</title><body>\0\255</body></html>" } }
end })
add("an error inside the stream", "overloaded server rate_limit", { only = "streamed", script = function(die, number)
  return { content = answers.text(number), stream_error = { type = "overloaded_error", message = "no",
    status = 529, after = die:between(1, 3) } }
end })
add("another type", "protocol stream_truncated answer",
  { script = spoken(function() return { content_type = "text/plain" } end) })

-- The raw server -----------------------------------------------------------------------------------------------------

local LIMITS = { limits = { body = 1 << 20, decoded = 1 << 20, line = 1 << 18, event = 1 << 18 } }

for words, names in pairs {
  [""] = "right until_close interim surplus chunk_extensions one_byte",
  ["limit"] = "head_flood head_line line_endless body_endless",
  ["limit timeout protocol connect"] = "interim_flood",
  ["limit protocol stream_truncated answer"] = "trailer_flood",
  ["limit protocol"] = "deep",
  ["protocol connect"] = "no_http no_http_endless before_status version gzip_not encodings upgrade",
  ["protocol connect stream_truncated"] =
    "head_nul length_bad chunk_bad chunk_huge binary html gzip_cut empty",
  ["server"] = "status_odd",
  ["protocol connect stream_truncated answer"] = "length_huge length_long length_two chunk_cut length_short",
  ["connect stream_truncated protocol"] = "head_cut close_at_once reset_at_once",
  ["protocol"] = "redirect_301 redirect_302 redirect_303 redirect_307 redirect_308",
  ["auth"] = "echo",
} do
  for name in names:gmatch "%S+" do add("raw: " .. name, words, { act = name, options = LIMITS }) end
end
add("raw: events_endless", "limit", { only = "streamed", act = "events_endless", options = LIMITS })
for _, name in ipairs { "silent", "head_drip", "body_drip" } do
  add("raw: " .. name, "timeout", { hangs = true, act = name })
end

-- The way there ------------------------------------------------------------------------------------------------------

local function at(scheme, host, port)
  return function(where) return ("%s://%s:%d/right_once/%%d"):format(scheme, host, where[port]) end
end

add("refused", "connect", { url = at("http", "127.0.0.1", "closed") })
add("no such name", "connect timeout", { hangs = true, url = at("http", "chaos.invalid", "closed") })
add("TLS: trusted", "", { url = at("https", "localhost", "tls"), ca = true })
add("TLS: self-signed", "connect", { url = at("https", "localhost", "tls") })
add("TLS: another name", "connect", { url = at("https", "127.0.0.1", "tls"), ca = true })
add("TLS: none there", "timeout", { hangs = true, url = at("https", "127.0.0.1", "raw") })
add("TLS: not expected", "connect protocol stream_truncated", { url = at("http", "127.0.0.1", "tls") })

table.sort(faults, function(a, b) return a.name < b.name end)
return faults
