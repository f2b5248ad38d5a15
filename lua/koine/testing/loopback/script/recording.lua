--- Reads the recordings that a script replays.

local core = require "koine.core"
local json = require "koine.testing.loopback.json"

--- Reads the recording at a path and returns its response {status, headers, body}, or nil and what is wrong.
return function(path)
  local file, err = io.open(path, "rb")
  if not file then
    return nil, err
  end
  local text = file:read("a")
  file:close()
  local recording, problem = json.decode(text)
  local response = type(recording) == "table" and recording.response
  if type(response) ~= "table" or type(response.body) ~= "string" or math.type(response.status) ~= "integer" then
    return nil, path .. ": not a recording with response.status and response.body" ..
      (problem and " (" .. tostring(problem) .. ")" or "")
  end
  if response.encoding == "base64" then
    response.body = core.base64_decode(response.body)
    if not response.body then
      return nil, path .. ": response.body is no base64"
    end
  end
  return response
end
