--- Errors of a client: what a transport reported, in the words and kinds that callers get, and what a model is told of
-- them.

local errors = require "koine.data.errors"
local text = require "koine.data.text"

local failure = {}

local CAPABILITY, URL_NEEDED = "-32021", "-32042" -- the server asks for something that a person has to grant
local GONE = "-32002"                             -- legacy: no such resource
local TAIL_MAX = 300                              -- bytes of the last line of standard error
local URLS_MAX = 10                               -- that an error lists

-- Trouble of the connection, and not of what was asked.
local BROKEN = { connect = true, stream_truncated = true }

local function new(connection, fields)
  if connection.options.fatal and BROKEN[fields.kind] then
    fields.kind, fields.class, fields.retryable = "executor", nil, false
  end
  fields.server, fields.said = connection.name, fields.message
  fields.message = connection.name .. ": " .. fields.message
  return errors.new(fields)
end

--- The error of a server that ended, or never began: `said` is the transport's, or nil. Waits until the program is
-- gone, so that its last line is known.
function failure.ended(connection, transport, said)
  transport:close(true)
  local ending, tail = transport.ending and transport:ending(), transport:tail()
  local words = "the server ended"
  if said and said.code ~= "closed" then words = errors.words(said) end
  if ending then words = ("%s (%s)"):format(words, ending) end
  if tail then words = ("%s: %s"):format(words, (text.cut(tail, TAIL_MAX))) end
  return new(connection, { kind = said and said.kind or "connect", code = said and said.code or "closed",
    retryable = false, message = words })
end

-- The URLs that data of an error lists.
local function urls_of(data)
  local listed, urls = type(data.elicitations) == "table" and data.elicitations or {}, {}
  for i = 1, math.min(#listed, URLS_MAX) do
    local url = type(listed[i]) == "table" and listed[i].url
    if type(url) == "string" and url:find "^https?://%g+$" then urls[#urls + 1] = url end
  end
  return urls
end

-- An error that the server answered.
local function answered(connection, method, err)
  local code, kind = err.code, err.kind
  local words, again = errors.words(err), ("MCP error %s: "):format(code) -- which many servers say themselves
  while words:sub(1, #again) == again do words = words:sub(#again + 1) end
  local fields = { kind = kind, code = code, data = err.data, retryable = false, status_code = err.status_code,
    message = again .. words }
  local data = type(err.data) == "table" and err.data or {}
  if code == CAPABILITY then
    fields.kind, fields.required = "invalid_request", data.requiredCapabilities
  elseif code == URL_NEEDED then
    fields.kind, fields.urls = "invalid_request", urls_of(data)
  elseif method == "resources/read" and (code == GONE or code == "-32602") then
    fields.kind = "not_found"
  end
  return new(connection, fields)
end

--- An error of another room's, behind the name of the server.
function failure.prefixed(connection, err)
  local fields = {}
  for field, value in next, err do fields[field] = value end
  return new(connection, fields)
end

--- The error of a call: `err` as the transport returned it.
function failure.of(connection, transport, method, err)
  if type(err.code) == "string" and err.code:find "^%-%d+$" then return answered(connection, method, err) end
  if err.kind == "cancelled" then return err end
  if BROKEN[err.kind] and transport.kind == "stdio" then return failure.ended(connection, transport, err) end
  return failure.prefixed(connection, err)
end

--- An error of our own, about what the server did.
function failure.new(connection, kind, message, code)
  return new(connection, { kind = kind, message = message, code = code, retryable = false })
end

-- What a model is told by the kind of an error.
local WORDS = {
  timeout = function() return "the tool did not answer in time" end,
  auth = function() return "the server wants a login; a person has to see to that" end,
}
WORDS.permission = WORDS.auth

--- The words of an error of a call for a model.
function failure.for_model(err)
  if err.urls and err.urls[1] then
    return "a person has to act first: open " .. table.concat(err.urls, ", ")
  elseif err.code == CAPABILITY or err.code == URL_NEEDED then
    return "a person has to act first: " .. errors.words(err.said or err)
  end
  local words = WORDS[err.kind]
  if words then return words() end
  local said = err.said or errors.words(err)
  if err.server and said:find "^the server ended" then
    return said:gsub("^the server", "the server " .. err.server):gsub(" %b()", "", 1)
  end
  return said
end

return failure
