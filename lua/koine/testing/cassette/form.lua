--- The form of a cassette: what its fields must be. People edit the files, so whatever they hold is either taken or
-- named by its path: "exchanges[2].response.status: an integer from 200 to 999 expected". Fields that this version does
-- not know may be anything.

local check = require "koine.data.check"
local core = require "koine.core"
local vocabulary = require "koine.data.vocabulary"

local form = {}

local function is_object(value) return type(value) == "table" and getmetatable(value) ~= core.array_mt end
local function is_integer(value) return math.type(value) == "integer" end
local function is_text(value) return type(value) == "string" end
local function is_time(value) return math.type(value) ~= nil and value >= 0 and value < math.huge end
local function is_kind(value) return vocabulary.kinds[value] ~= nil end
local function is_status(value) return is_integer(value) and value >= 200 and value <= 999 end
local function is_flag(value) return type(value) == "boolean" end

local function is_headers(value)
  if not is_object(value) then return false end
  for name, text in next, value do
    if not is_text(name) or not is_text(text) or text:find "%z" then return false end
  end
  return true
end

local function is_texts(value)
  if not check.is_list(value) then return false end
  for _, text in ipairs(value) do
    if not is_text(text) then return false end
  end
  return true
end

local function is_base64(value) return is_text(value) and core.base64_decode(value) ~= nil end
local function is_line(value) return type(value) == "table" or is_text(value) end

local TEXT, HEADERS, TIME = { is_text, "text" }, { is_headers, "an object of texts" }, { is_time, "milliseconds" }
local BASE64, FLAG, INTEGER = { is_base64, "base64" }, { is_flag, "true or false" }, { is_integer, "an integer" }

local REQUEST = { method = TEXT, url = TEXT, headers = HEADERS, body = TEXT, body_base64 = BASE64 }
local RESPONSE = { status = { is_status, "an integer from 200 to 999" }, headers = HEADERS, body = TEXT,
  body_base64 = BASE64, chunks = { check.is_list, "an array" }, error = { is_object, "an object" }, left = FLAG }
local FAILURE = { kind = { is_kind, "the kind of an error" }, code = TEXT, message = TEXT, after = TIME }
local PROGRAM = { command = TEXT, args = { is_texts, "an array of texts" }, lines = { check.is_list, "an array" },
  ended = { is_object, "an object" } }
local LINE = { ms = TIME, sent = { is_line, "an object, or text" }, came = { is_line, "an object, or text" },
  logged = TEXT }
local ENDED = { ms = TIME, code = INTEGER, signal = INTEGER }

local function expected(path, words) return ("%s: %s expected"):format(path, words) end

-- What is wrong with the fields of an object, of which `needed` (array of names) must be there; nil for nothing.
local function of_object(value, path, fields, needed)
  if not is_object(value) then return expected(path, "an object") end
  for _, name in ipairs(needed) do
    if value[name] == nil then return expected(path .. "." .. name, fields[name][2]) end
  end
  for _, name in ipairs(fields.names) do
    if value[name] ~= nil and not fields[name][1](value[name]) then
      return expected(path .. "." .. name, fields[name][2])
    end
  end
end

for _, fields in ipairs { REQUEST, RESPONSE, FAILURE, PROGRAM, LINE, ENDED } do
  local names = {}
  for name in next, fields do names[#names + 1] = name end
  table.sort(names)
  fields.names = names
end

-- The same with the chunks of a body of n bytes.
local function of_chunks(chunks, path, n)
  local last, sum = 0, 0
  for i, chunk in ipairs(chunks) do
    if type(chunk) ~= "table" or not is_time(chunk[1]) or not is_integer(chunk[2]) or chunk[2] < 0
      or chunk[1] < last then
      return expected(("%s[%d]"):format(path, i), "a pair of milliseconds, which rise, and bytes")
    end
    last, sum = chunk[1], sum + chunk[2]
  end
  if sum ~= n then
    return ("%s: they make up %d bytes, and the body has %d (who edits a body deletes its chunks)"):format(path, sum, n)
  end
end

local function of_response(response, path)
  local problem = of_object(response, path, RESPONSE, {})
  if problem then return problem end
  if response.error ~= nil then
    problem = of_object(response.error, path .. ".error", FAILURE, { "kind" })
    if problem then return problem end
  elseif response.status == nil and not response.left then
    return expected(path, "status, error or left")
  end
  if response.chunks == nil then return nil end
  local body = response.body or response.body_base64 and core.base64_decode(response.body_base64) or ""
  return of_chunks(response.chunks, path .. ".chunks", #body)
end

local function of_exchange(exchange, path)
  if not is_object(exchange) then return expected(path, "an object") end
  return of_object(exchange.request, path .. ".request", REQUEST, { "method", "url" })
    or of_response(exchange.response, path .. ".response")
end

local function of_line(line, path)
  local problem = of_object(line, path, LINE, { "ms" })
  if problem then return problem end
  local said = (line.sent ~= nil and 1 or 0) + (line.came ~= nil and 1 or 0) + (line.logged ~= nil and 1 or 0)
  if said ~= 1 then return expected(path, "one of sent, came and logged") end
end

-- The same with each member of a list.
local function of_list(list, path, judge)
  if not check.is_list(list) then return expected(path, "an array") end
  for i, one in ipairs(list) do
    local problem = judge(one, ("%s[%d]"):format(path, i))
    if problem then return problem end
  end
end

local function of_program(program, path)
  return of_object(program, path, PROGRAM, { "command", "lines" })
    or of_list(program.lines, path .. ".lines", of_line)
    or program.ended ~= nil and of_object(program.ended, path .. ".ended", ENDED, { "ms" }) or nil
end

--- What is wrong with the exchanges and programs of a cassette (a decoded JSON object), in words; nil for nothing.
function form.problem(cassette)
  return of_list(cassette.exchanges, "exchanges", of_exchange)
    or cassette.programs ~= nil and of_list(cassette.programs, "programs", of_program) or nil
end

return form
