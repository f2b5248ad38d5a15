--- A body in gzip, each of its pieces decodable as soon as it is there, and bombs: spaces that inflate a thousandfold.
-- Needs lua-zlib, which is required on first use.

local gzip = {}

local HEADER = "\x1f\x8b\x08\0\0\0\0\0\0\xff"
local RAW = -15        -- zlib's window bits for deflate without a header
local BLOCK = 1 << 20  -- spaces that are compressed at once

--- True, or nil and why no body can be compressed.
function gzip.check()
  if pcall(require, "zlib") then return true end
  return nil, "needs lua-zlib (Debian: lua-zlib; LuaRocks: lua-zlib)"
end

--- Wraps pieces of a body in gzip. With `spaces`, that many spaces come first. Returns a new array of pieces. Raises
-- when lua-zlib is missing.
function gzip.wrap(pieces, spaces)
  local zlib = require "zlib"
  local deflate, crc = zlib.deflate(zlib.BEST_COMPRESSION, RAW), zlib.crc32()
  local out, size, sum = { HEADER }, 0, 0
  local function add(text, compressed)
    out[#out + 1], size, sum = compressed, size + #text, crc(text)
  end
  if spaces then
    local text = (" "):rep(BLOCK)
    local compressed = deflate(text, "full") -- a full flush forgets what came before: the same bytes serve again
    for _ = 1, spaces // BLOCK do add(text, compressed) end
    local rest = text:sub(1, spaces % BLOCK)
    add(rest, (deflate(rest, "full")))
  end
  for _, piece in ipairs(pieces) do add(piece, (deflate(piece, "sync"))) end
  out[#out + 1] = deflate("", "finish") .. string.pack("<I4I4", math.tointeger(sum), size & 0xFFFFFFFF)
  return out
end

return gzip
