--- Base64, as images and documents travel in messages.

local core = require "koine.core"
local errors = require "koine.data.errors"

--- The base64 text (RFC 4648, with padding, in one line) of a string of bytes. Raises an ArgumentError for anything
-- else.
return function(bytes)
  if type(bytes) ~= "string" then errors.argument("bytes", "string", bytes) end
  return core.base64_encode(bytes)
end
