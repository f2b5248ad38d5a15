--- A message of AWS's binary streams, as the loopback provider sends it. Pure.

local core = require "koine.core"

local function header(name, value) return string.pack(">s1Bs2", name, 7, value) end

--- The bytes of a message: its kind ("event", "exception"), its type, its payload.
return function(kind, word, payload)
  local headers = header((":%s-type"):format(kind), word) .. header(":content-type", "application/json")
    .. header(":message-type", kind)
  local prelude = string.pack(">I4I4", 16 + #headers + #payload, #headers)
  local bytes = prelude .. string.pack(">I4", core.crc32(prelude)) .. headers .. payload
  return bytes .. string.pack(">I4", core.crc32(bytes))
end
