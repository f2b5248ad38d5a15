--- Private keys as files of service accounts have them: RSA, PKCS #8, in PEM, without a password. Other text never
-- reaches luaossl: some of its releases read freed memory where they report what OpenSSL refuses.

local core = require "koine.core"

local BEGIN, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
local INTEGER, BYTES, SEQUENCE = 0x02, 0x04, 0x30 -- DER's tags
local VERSION = "\2\1\0"
local RSA = "\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00" -- the algorithm's name
local INTEGERS = 9 -- of an RSA key

-- The first and last place of the content of what stands at a place, nil where that has another tag or goes beyond
-- `stop`.
local function content(der, at, stop, tag)
  if at + 1 > stop or der:byte(at) ~= tag then return nil end
  local n, first = der:byte(at + 1), at + 2
  if n >= 0x80 then
    local digits = n - 0x80
    if digits == 0 or digits > 3 or first + digits > stop then return nil end
    n, first = string.unpack(">I" .. digits, der, first), first + digits
  end
  local last = first + n - 1
  if n > 0 and last <= stop then return first, last end
end

-- The same for what ends at `stop`.
local function rest(der, at, stop, tag)
  local first, last = content(der, at, stop, tag)
  if last == stop then return first end
end

-- True for the integers of an RSA key from `at` to the end.
local function is_key(der, at)
  local count = 0
  while at <= #der do
    local first, last = content(der, at, #der, INTEGER)
    if not first then return false end
    at, count = last + 1, count + 1
  end
  return count == INTEGERS
end

-- The text between BEGIN and END, without white space; nil where more than white space is around them.
local function inside(pem)
  local text = pem:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
  if text:sub(1, #BEGIN + 1) ~= BEGIN .. " " or text:sub(-#END) ~= END then return nil end
  local body = text:sub(#BEGIN + 1, -#END - 1):gsub(" ", "")
  return not body:find "[^%w+/=]" and body or nil
end

--- The bytes (DER) of the key in a PEM text; nil when it is not one.
return function(pem)
  local body = inside(pem)
  local der = body and core.base64_decode(body)
  local at = der and rest(der, 1, #der, SEQUENCE)
  local head = VERSION .. RSA
  if not at or der:sub(at, at + #head - 1) ~= head then return nil end
  at = rest(der, at + #head, #der, BYTES)
  at = at and rest(der, at, #der, SEQUENCE)
  return at and der:sub(at, at + #VERSION - 1) == VERSION and is_key(der, at) and der or nil
end
