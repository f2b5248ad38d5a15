--- Base64, as images and documents travel in messages.

local errors = require "koine.data.errors"

local DIGITS = {}
for n, digit in ipairs { ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):byte(1, -1) } do
  DIGITS[n - 1] = string.char(digit)
end

--- The base64 text (RFC 4648, with padding, in one line) of a string of bytes. Raises an ArgumentError for anything
-- else.
return function(bytes)
  if type(bytes) ~= "string" then errors.argument("bytes", "string", bytes) end
  local missing = -#bytes % 3
  local text = (bytes .. ("\0"):rep(missing)):gsub("...", function(three)
    local n = string.unpack(">I3", three)
    return DIGITS[n >> 18] .. DIGITS[n >> 12 & 63] .. DIGITS[n >> 6 & 63] .. DIGITS[n & 63]
  end)
  return text:sub(1, #text - missing) .. ("="):rep(missing)
end
