--- Texts of UTF-8, cut to so many bytes; last words of programs; texts in URLs; which texts an error may show.

local core = require "koine.core"

local text = {}

local SECRET_RUN = 16 -- bytes of letters and digits in a row, as keys have and names do not
local PATH_MAX, SHOWN_PATH_MAX = 4096, 255 -- bytes
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

--- Whether a text (string) has the look of a credential: letters mixed with digits in a long run.
function text.may_be_secret(whole)
  for run in whole:gmatch "%w+" do
    if #run >= SECRET_RUN and run:find "%a" and run:find "%d" then return true end
  end
  return whole:find("-----BEGIN", 1, true) ~= nil
end

-- Where programs say their way to an error below it, as Lua and Node do.
local TRACES = { "^stack traceback:", "^\t.*: in ", "^\t%.%.%.\t", "^%s+at %S", "^Node%.js v%d" }

--- Whether a line (string) of a program's standard error can be its last word: neither blank nor part of a stack trace.
function text.is_word(line)
  for _, trace in ipairs(TRACES) do
    if line:find(trace) then return false end
  end
  return line:find "%S" ~= nil
end

local CREDENTIALS = { "KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH" } -- in names of variables and headers

--- Whether the value (string) of a variable or header of that name is a credential, by the look of either.
function text.is_credential(name, value)
  name = name:upper()
  for _, word in ipairs(CREDENTIALS) do
    if name:find(word, 1, true) then return true end
  end
  return text.may_be_secret(value)
end

local SECRETS = 16 -- that the core looks for at once

local function is_longer(a, b) return #a > #b end

--- The text with each of `secrets` (array of strings, however many; those below 8 bytes are left) as "[redacted]".
function text.redact(whole, secrets)
  if #secrets > SECRETS then -- a long one may begin with a short one
    secrets = table.move(secrets, 1, #secrets, 1, {})
    table.sort(secrets, is_longer)
  end
  for i = 1, #secrets, SECRETS do
    whole = core.redact(whole, table.move(secrets, i, math.min(i + SECRETS - 1, #secrets), 1, {}))
  end
  return whole
end

--- The first of `secrets` (array of strings), as many as a request of the core takes: a new array. Who gives it these
-- redacts the words of its errors by `redact`.
function text.first_secrets(secrets) return table.move(secrets, 1, math.min(#secrets, SECRETS), 1, {}) end

--- Whether a text (string) can be meant as the path of a file: not the file's contents.
function text.is_path(whole)
  return #whole <= PATH_MAX and whole:find "%S" ~= nil and not whole:find "%c" and not whole:find "^%s*[{%[]"
    and not whole:find("-----BEGIN", 1, true)
end

--- The path (string) as errors may show it; nil where it is long, or has the look of a credential in its place.
function text.shown_path(path)
  if not text.is_path(path) or #path > SHOWN_PATH_MAX then return nil end
  if not path:find "^[~.]*/" and text.may_be_secret(path) then return nil end
  return path
end

local function escape(byte) return ("%%%02X"):format(byte:byte()) end

--- A text (string) as a part of a URL, in any locale: every byte but letters and digits of ASCII, - . _ ~ and those of
-- `kept` (nil: none more) as %XX.
function text.percent(whole, kept)
  return (whole:gsub("[^0-9A-Za-z._~" .. (kept or "") .. "-]", escape))
end

return text
