--- Valid gzip without a compressor: stored blocks, and a run of spaces that inflates 150-fold. Pure.

local gzip = {}

local POLY = 0xEDB88320
local HEADER = "\x1f\x8b\x08\0\0\0\0\0\0\xff"

local TABLE = {}
for n = 0, 255 do
  local c = n
  for _ = 1, 8 do
    c = c & 1 == 1 and (c >> 1) ~ POLY or c >> 1
  end
  TABLE[n] = c
end

local function crc32(crc, data)
  crc = ~crc & 0xFFFFFFFF
  for i = 1, #data do
    crc = TABLE[(crc ~ data:byte(i)) & 0xFF] ~ (crc >> 8)
  end
  return ~crc & 0xFFFFFFFF
end

--- a * b modulo the CRC polynomial, bits reflected.
local function multiply(a, b)
  local product, bit = 0, 1 << 31
  while bit > 0 do
    if a & bit ~= 0 then
      product = product ~ b
    end
    b = b & 1 == 1 and (b >> 1) ~ POLY or b >> 1
    bit = bit >> 1
  end
  return product
end

--- The CRC of two texts one after the other, from the CRC of each and the length of the second.
local function crc_join(first, second, length)
  local power, square = 1 << 31, 1 << 23 -- x^0; x^8, one byte
  while length > 0 do
    if length & 1 == 1 then
      power = multiply(square, power)
    end
    square = multiply(square, square)
    length = length >> 1
  end
  return multiply(power, first) ~ second
end

--- The CRC of n spaces.
local function crc_spaces(n)
  local crc, block, size = 0, crc32(0, " "), 1
  while n > 0 do
    if n & 1 == 1 then
      crc = crc_join(crc, block, size)
    end
    block = crc_join(block, block, size)
    size, n = size * 2, n >> 1
  end
  return crc
end

--- A fixed-Huffman block of 1 + 2064 k spaces, k the least that makes it at least n: a literal space, then matches of
-- length 258 at distance 1, thirteen bits each, of which eight fill thirteen bytes. Returns bytes, number of spaces.
local function run_of_spaces(n)
  local match = "11000101" .. "00000"
  local bits = "000" .. match:rep(8)
  local period = bits:sub(1, 104):gsub("........", function(byte)
    return string.char(tonumber(byte:reverse(), 2))
  end)
  local k = math.max(1, (n - 1 + 2063) // 2064)
  local first = string.char(tonumber(("01001010"):reverse(), 2)) -- not final, fixed codes, and most of the space
  -- The end-of-block code and the header of an empty stored block are zeros; the stored block aligns to a byte.
  return first .. period:rep(k) .. "\0\0" .. "\0\0\xff\xff", 1 + 2064 * k
end

local function stored(data)
  local out = {}
  for from = 1, #data, 65535 do
    local part = data:sub(from, from + 65534)
    out[#out + 1] = "\0" .. string.pack("<I2I2", #part, ~#part & 0xFFFF) .. part
  end
  return table.concat(out)
end

--- Wraps pieces of a body in gzip, each decodable as soon as it is there. With `spaces`, that many spaces (rounded up)
-- come first, compressed. Returns a new array of pieces.
function gzip.wrap(pieces, spaces)
  local out, crc, size = { HEADER }, 0, 0
  if spaces then
    local run, n = run_of_spaces(spaces)
    out[#out + 1] = run
    crc, size = crc_spaces(n), n
  end
  for _, piece in ipairs(pieces) do
    out[#out + 1] = stored(piece)
    crc, size = crc32(crc, piece), size + #piece
  end
  out[#out + 1] = "\1\0\0\xff\xff" .. string.pack("<I4I4", crc, size & 0xFFFFFFFF)
  return out
end

return gzip
