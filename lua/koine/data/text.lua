--- Texts of UTF-8, cut to so many bytes.

local text = {}

local TAIL = 3 -- bytes that a character has besides its first one, at most

-- True for a byte that does not begin a character; nil is none.
local function is_inside(byte) return byte ~= nil and byte & 0xC0 == 0x80 end

--- At most `max` bytes (an integer, 0 or more) of a text (string), not cut inside a character, and whether something
-- was left out. What is no UTF-8 is cut at `max`.
function text.cut(whole, max)
  if #whole <= max then return whole, false end
  local last = max
  while last > 0 and last > max - TAIL and is_inside(whole:byte(last + 1)) do last = last - 1 end
  if is_inside(whole:byte(last + 1)) then last = max end
  return whole:sub(1, last), true
end

return text
