--- What cassettes and the raw view of requests must not show: credentials that are known, fields, headers and
-- parameters that hold some, and texts that look like one. A text is any string; nothing here reads or writes files.

local core = require "koine.core"
local is_credential = require("koine.data.text").is_credential
local redact = require("koine.data.text").redact

local secrets = {}

--- What stands in place of a secret.
secrets.HIDDEN = "[redacted]"

local SHORTEST = 8 -- bytes, as in the core: shorter ones turn up by themselves

-- Fields of JSON objects and of forms, and parameters of queries.
local FIELDS = { api_key = true, access_token = true, refresh_token = true, client_secret = true, password = true,
  code_verifier = true, device_code = true, id_token = true, assertion = true }
local QUERY = { key = true, token = true, code = true }
local FORM = { token = true, code = true, subject_token = true }

-- Parts of the names of headers: of credentials besides those that data/text knows, and of what is none all the same.
local MORE, HARMLESS = { "cookie", "signature" }, { "limit", "tokens", "-authenticate$" }

-- Shapes of credentials, as Lua patterns behind a byte that is no letter or digit.
local SHAPES = { "sk%-[%w_%-]+", "gh[pousr]_%w+", "github_pat_[%w_]+", "AKIA[%u%d]+", "AIza[%w_%-]+",
  "xox[abprs]%-[%w%-]+", "[Bb]earer +[%w%-._~+/]+=*", "eyJ[%w_%-]+%.eyJ[%w_%-]+%.[%w_%-]+" }
local SHAPE_MIN = 20 -- bytes: no word of a text is as long

local function keep(found, value)
  if found and type(value) == "string" and #value >= SHORTEST and value ~= secrets.HIDDEN then
    found[#found + 1] = value
  end
end

-- The place behind a JSON string that begins at `at`, behind its quote: that of the closing quote, or nil.
local function string_end(text, at)
  while true do
    local stop = text:find('["\\]', at)
    if not stop then return nil end
    if text:byte(stop) == 34 then return stop end
    at = stop + 2
  end
end

--- Whether a text is the JSON answer of a token exchange, whose field is called `token`, and which says when that
-- expires.
function secrets.is_exchange(text)
  return (text:find '^%s*{' and text:find '"token"%s*:%s*"' and text:find '"expires_at"%s*:') ~= nil
end

-- The text without the values of fields that hold credentials; adds those to `found`.
local function without_fields(text, found)
  local parts, from, at, exchange = {}, 1, 1, secrets.is_exchange(text)
  while true do
    local _, quote, name = text:find('"([%w_]+)"%s*:%s*"', at)
    if not quote then break end
    at = quote + 1
    local stop = (FIELDS[name] or exchange and name == "token") and string_end(text, at)
    if stop then
      local value = text:sub(at, stop - 1)
      keep(found, core.decode('"' .. value .. '"'))
      parts[#parts + 1] = text:sub(from, quote)
      parts[#parts + 1] = secrets.HIDDEN
      from, at = stop, stop + 1
    end
  end
  parts[#parts + 1] = text:sub(from)
  return table.concat(parts)
end

-- The same of a form ("name=value&…").
local function without_form(text, found)
  if text:find "[%s{}<>\"]" or not text:find "^[%w_%-.%%]+=" then return text end
  return (text:gsub("([^&=]+)=([^&]*)", function(name, value)
    if not FIELDS[name] and not FORM[name] then return nil end
    keep(found, (value:gsub("%%(%x%x)", function(code) return string.char(tonumber(code, 16)) end)))
    return name .. "=" .. secrets.HIDDEN
  end))
end

--- A body without the values of its fields that hold credentials, in JSON, in events or in a form. They are added to
-- the array `found` (nil: nowhere).
function secrets.hide_fields(text, found) return without_form(without_fields(text, found), found) end

--- A URL without its user part and the values of parameters that hold credentials, which are added to `found`.
function secrets.hide_in_url(url, found)
  url = url:gsub("^(%a[%w+.-]*://)[^/?#]*@", "%1", 1)
  return (url:gsub("([?&])([^=&#]+)=([^&#]*)", function(mark, name, value)
    local lower = name:lower()
    if not QUERY[lower] and not FIELDS[lower] and not lower:find "^sig" and not lower:find "^x%-amz%-s" then
      return nil
    end
    keep(found, value)
    return mark .. name .. "=" .. secrets.HIDDEN
  end))
end

local function has_one(name, patterns)
  for _, pattern in ipairs(patterns) do
    if name:find(pattern) then return true end
  end
  return false
end

--- The value of a header without credentials, which are added to `found`: none of one whose name says that it is a
-- credential, else that of a URL in it.
function secrets.hide_in_header(name, value, found)
  name = name:lower()
  if (is_credential(name, "") or has_one(name, MORE)) and not has_one(name, HARMLESS) then
    keep(found, value:match "^%a+ +(.+)$" or value)
    return secrets.HIDDEN
  end
  return value:find("://", 1, true) and secrets.hide_in_url(value, found) or value
end

--- The text without these secrets (array of strings), in all the forms that the core knows.
secrets.hide = redact

--- A JSON value without these secrets: a copy.
function secrets.hide_in_value(value, known)
  if type(value) == "string" then return redact(value, known) end
  if type(value) ~= "table" then return value end
  local copy = setmetatable({}, getmetatable(value))
  for key, member in next, value do
    local hidden = FIELDS[key] and type(member) == "string"
    copy[type(key) == "string" and redact(key, known) or key] = hidden and secrets.HIDDEN
      or secrets.hide_in_value(member, known)
  end
  return copy
end

-- Whether the caller allows a text.
local function is_allowed(text, allow)
  for _, one in ipairs(allow or {}) do
    if text:find(one, 1, true) then return true end
  end
  return false
end

--- What a text holds that looks like a credential, or one of the `known`: words that do not show it; nil for nothing.
-- `allow` is an array of texts: what holds one of them may stay.
function secrets.found(text, known, allow)
  if redact(text, known) ~= text then return "a credential of the call" end
  for _, shape in ipairs(SHAPES) do
    for match in text:gmatch("%f[%w]" .. shape) do
      if #match >= SHAPE_MIN and not is_allowed(match, allow) then
        return ("what looks like a credential (%s…)"):format(match:sub(1, 4))
      end
    end
  end
  return nil
end

return secrets
