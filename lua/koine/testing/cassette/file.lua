--- Cassettes as files: JSON with sorted keys and a line for each member, so that a diff can be read. Fields that this
-- version does not know stay as they are.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local files = require "koine.data.files"
local version = require "koine.data.version"
local vocabulary = require "koine.data.vocabulary"

local file = {}

local FORMAT = "koine.cassette.v1"
local SAME_MAJOR = "^koine%.cassette%.v1[%.%d]*$"
local FILE_MAX = 256 << 20 -- bytes

--- A cassette without exchanges.
function file.new()
  return { format = FORMAT, koine = version, recorded = os.date("!%Y-%m-%dT%H:%M:%SZ"), exchanges = core.array {} }
end

local function failure(path, words)
  return nil, errors.new { kind = "other", code = "cassette", message = ("cassette %s: %s"):format(path, words) }
end

-- What is wrong with the chunks of a body of n bytes; nil for nothing.
local function problem_of_chunks(chunks, n)
  local last, sum = 0, 0
  if not check.is_list(chunks) then return "chunks: array expected" end
  for _, chunk in ipairs(chunks) do
    if type(chunk) ~= "table" or not math.type(chunk[1]) or math.type(chunk[2]) ~= "integer" or chunk[2] < 0
      or chunk[1] < last then
      return "chunks: pairs of milliseconds, which rise, and bytes expected"
    end
    last, sum = chunk[1], sum + chunk[2]
  end
  if sum ~= n then
    return ("chunks: they make up %d bytes, and the body has %d (who edits a body deletes its chunks)"):format(sum, n)
  end
end

-- What is wrong with a response; nil for nothing.
local function problem_of_response(response)
  if type(response) ~= "table" then return "a response expected" end
  local status, err, body = response.status, response.error, response.body
  if type(err) ~= "table" and math.type(status) ~= "integer" then return "a response with status or error expected" end
  if status ~= nil and (math.type(status) ~= "integer" or status < 200 or status > 999) then
    return "response.status: 200 to 999 expected"
  end
  if err ~= nil and (type(err) ~= "table" or not vocabulary.kinds[err.kind]) then
    return "response.error.kind: the kind of an error expected"
  end
  for name, value in next, response.headers or {} do
    if type(name) ~= "string" or type(value) ~= "string" or value:find "%z" then
      return "response.headers: strings by name expected"
    end
  end
  if body == nil and response.body_base64 ~= nil then
    body = type(response.body_base64) == "string" and core.base64_decode(response.body_base64) or false
  end
  if body ~= nil and type(body) ~= "string" then return "response.body: text expected, or base64 in body_base64" end
  if response.chunks ~= nil then return problem_of_chunks(response.chunks, #(body or "")) end
end

-- What is wrong with an exchange; nil for nothing.
local function problem_of(exchange)
  if type(exchange) ~= "table" then return "an object expected" end
  local request, response = exchange.request, exchange.response
  if type(request) ~= "table" or type(request.method) ~= "string" or type(request.url) ~= "string" then
    return "a request with method and url expected"
  end
  return problem_of_response(response)
end

--- Reads the cassette at `path`: its table; nil, nil where there is no file; nil, err where it cannot be used.
function file.read(path)
  local text, err = files.read(path, FILE_MAX)
  if not text then
    if err.code == "absent" then return nil, nil end
    return failure(path, errors.words(err))
  end
  local cassette, problem = core.decode(text)
  if type(cassette) ~= "table" then return failure(path, "no JSON object (" .. problem.message .. ")") end
  if type(cassette.format) ~= "string" or not cassette.format:find(SAME_MAJOR) then
    return failure(path, ("no cassette that this version can read (format %s)"):format(
      errors.describe(cassette.format)))
  end
  if not check.is_list(cassette.exchanges) then return failure(path, "exchanges: array expected") end
  for i, exchange in ipairs(cassette.exchanges) do
    problem = problem_of(exchange)
    if problem then return failure(path, ("exchanges[%d]: %s"):format(i, problem)) end
  end
  return cassette
end

-- Whether a value is written in one line.
local function is_plain(value)
  if type(value) ~= "table" or next(value) == nil then return true end
  if not check.is_list(value) then return false end
  for _, member in ipairs(value) do
    if type(member) == "table" and not (#member == 2 and math.type(member[2])) then return false end
  end
  return math.type(value[1]) ~= nil or type(value[1]) == "table"
end

-- Adds the text of a value to `parts`, its members behind `margin`.
local function write(parts, value, margin)
  if is_plain(value) then
    parts[#parts + 1] = core.encode(value)
    return
  end
  local list, keys, inner = check.is_list(value), {}, margin .. " "
  for key in next, value do keys[#keys + 1] = key end
  table.sort(keys, not list and core.before or nil)
  parts[#parts + 1] = list and "[" or "{"
  for i, key in ipairs(keys) do
    parts[#parts + 1] = (i > 1 and "," or "") .. inner .. (list and "" or core.encode(key) .. ": ")
    write(parts, value[key], inner)
  end
  parts[#parts + 1] = margin .. (list and "]" or "}")
end

--- The text of a cassette.
function file.encode(cassette)
  local parts = {}
  write(parts, cassette, "\n")
  return table.concat(parts) .. "\n"
end

--- Replaces the file at `path` in one step: true, or nil, err and the old file.
function file.write(path, cassette) return files.write(path, file.encode(cassette)) end

return file
