--- Messages of JSON-RPC 2.0: what a text is, and the texts of our own. Reader and writer are the core's, so nulls and
-- integers up to 64 bits survive.

local core = require "koine.core"

local message = {}

--- Codes of JSON-RPC's errors.
message.INVALID_REQUEST, message.METHOD_NOT_FOUND, message.INTERNAL_ERROR = -32600, -32601, -32603
--- The code of the protocols above for a request that was cancelled.
message.CANCELLED = -32800

local NUMERAL = "^%-?%d[%d.]*[eE]?[+-]?%d*$"
local SHORTEST = 19 -- digits of an integer beyond 64 bits

-- The text of an id: the core reads a number beyond its range as the string of its text.
local function id_text(id, text, place)
  if type(id) == "string" and id:find(NUMERAL) and (#id >= SHORTEST or id:find "[eE]") then
    local read = core.decode(text, true)
    if place then read = read and read[place] end
    if read and type(read.id) == "number" then return id end
    if not read and not text:find('"' .. id .. '"', 1, true) then return id end -- beyond a double
  end
  return core.encode(id)
end

local IDS = { string = true, number = true }

--- What a decoded value is: "request", "notification", "answer", "invalid" (an object that is none of these),
-- "refused" (a request whose method or id is none), "array", or nil for what is no object. `method` is looked at first.
function message.kind(value)
  if type(value) ~= "table" then return nil end
  if getmetatable(value) == core.array_mt then return "array" end
  local method, id = value.method, value.id
  if method == nil then return id ~= nil and "answer" or "invalid" end
  if id == nil then return type(method) == "string" and "notification" or "invalid" end
  return type(method) == "string" and IDS[type(id)] and "request" or "refused"
end

--- The JSON of the id of a request, to be written in its answer: with the type and the digits that it came with.
-- `text` is the text that it came in, `place` its place in that, where it is an array. An id that is none is null.
function message.id(value, text, place)
  if not IDS[type(value.id)] then return "null" end
  return id_text(value.id, text, place)
end

--- The text of a request, or without an id (nil) of a notification; `params` is a table, nil, or a string: their JSON,
-- which has no LF. Raises an ArgumentError for params that JSON cannot say.
function message.call(id, method, params)
  if type(params) ~= "string" then
    return core.encode { jsonrpc = "2.0", id = id, method = method, params = params } .. "\n"
  end
  local before = id and ('{"id":%s,'):format(core.encode(id)) or "{"
  return ('%s"jsonrpc":"2.0","method":%s,"params":%s}\n'):format(before, core.encode(method), params)
end

--- The text of an answer; `id` is its JSON, `result` any value (nil: null). Raises an ArgumentError for a result that
-- JSON cannot say.
function message.result(id, result)
  if result == nil then result = core.null end
  return ('{"id":%s,"jsonrpc":"2.0","result":%s}\n'):format(id, core.encode(result))
end

--- The text of an answer that is an error: {code (integer), message (string), data (any value, or nil)}. Raises an
-- ArgumentError for what JSON cannot say.
function message.failure(id, failure)
  return ('{"error":%s,"id":%s,"jsonrpc":"2.0"}\n'):format(core.encode(failure), id)
end

return message
