--- JSON values as cassettes keep and compare them: large base64 strings by their hash, numbers by their value.

local core = require "koine.core"
local files = require "koine.data.files"

local media = {}

local KEPT_MAX = 1024 -- bytes of a base64 string that stays as it is

local function hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

-- What stands in place of a string: {["$media"] = {type, bytes, sha256}}; nil where it stays.
local function reference(whole)
  if #whole <= KEPT_MAX then return nil end
  local declared, encoded = whole:match "^data:([^;,]*);base64,(.*)$"
  encoded = encoded or whole
  if encoded:find "[^A-Za-z0-9+/=]" then return nil end
  local bytes = core.base64_decode(encoded)
  if not bytes then return nil end
  return { ["$media"] = { type = declared or files.media_type(bytes) or "application/octet-stream", bytes = #bytes,
    sha256 = hex(core.sha256(bytes)) } }
end

--- A copy of a decoded JSON value with its media replaced and its numbers as integers where they are whole.
function media.replace(value)
  if type(value) == "string" then return reference(value) or value end
  if math.type(value) == "float" then return math.tointeger(value) or value end
  if type(value) ~= "table" then return value end
  local copy = setmetatable({}, getmetatable(value))
  for key, member in next, value do copy[key] = media.replace(member) end
  return copy
end

return media
