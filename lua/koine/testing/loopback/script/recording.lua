--- Reads what a script replays: a recording ({response = {status, headers, body, encoding}}), or an exchange of a
-- cassette.

local cassette = require "koine.testing.cassette.file"
local core = require "koine.core"
local json = require "koine.testing.loopback.json"

-- The sizes of the pieces in which a body came; nil where that is not known.
local function sizes_of(chunks)
  if not chunks then return nil end
  local sizes = {}
  for i, chunk in ipairs(chunks) do sizes[i] = chunk[2] end
  return sizes
end

-- How an answer broke off: a fault, or nil. One that its reader left ends where it was left: readers of streams leave
-- at the last event, and do not wait for the end of the body.
local function fault_of(response, size)
  return response.error and { reset_after = response.status and size or 0 } or nil
end

-- The response of exchange number n of a cassette: or nil and what is wrong.
local function of_cassette(path, n)
  local tape, problem = cassette.read(path)
  if not tape then return nil, ("%s: %s"):format(path, problem) end
  local exchange = tape.exchanges[n]
  if not exchange then return nil, ("%s: exchange %d of %d expected"):format(path, n, #tape.exchanges) end
  local response = exchange.response
  local body = response.body or response.body_base64 and core.base64_decode(response.body_base64) or ""
  return { status = response.status or 200, headers = response.headers, body = body, sizes = sizes_of(response.chunks),
    fault = fault_of(response, #body) }
end

local function of_recording(path, recording, problem)
  local response = type(recording) == "table" and recording.response
  if type(response) ~= "table" or type(response.body) ~= "string" or math.type(response.status) ~= "integer" then
    return nil, path .. ": neither a cassette nor a recording with response.status and response.body" ..
      (problem and " (" .. tostring(problem) .. ")" or "")
  end
  if response.encoding == "base64" then
    response.body = core.base64_decode(response.body)
    if not response.body then return nil, path .. ": response.body is no base64" end
  end
  return response
end

--- Reads the file at a path, and of a cassette exchange number n (nil: 1): its response {status, headers, body, sizes =
-- bytes of the pieces, or nil, fault = how it broke off, or nil}; or nil and what is wrong.
return function(path, n)
  local file, err = io.open(path, "rb")
  local text = file and file:read "a"
  if file then file:close() end
  if not text then return nil, err or path .. ": no file" end
  local recording, problem = json.decode(text)
  if type(recording) == "table" and type(recording.format) == "string" then return of_cassette(path, n or 1) end
  if n and n > 1 then return nil, path .. ": a recording has one exchange" end
  return of_recording(path, recording, problem)
end
