--- Requests as cassettes keep and compare them: {method, url, headers, json | body | body_base64}, without secrets.
-- Equal requests have equal keys, whatever the order of their fields and the spaces between them.

local core = require "koine.core"
local media = require "koine.testing.cassette.media"
local secrets = require "koine.net.secrets"

local request = {}

local KEPT = { ["content-type"] = true, accept = true, ["anthropic-version"] = true, ["anthropic-beta"] = true,
  ["openai-beta"] = true }
local COMPARED = { "anthropic-version", "anthropic-beta" }

--- The fields of bodies that are not compared unless the caller says others.
request.IGNORED = { "metadata.user_id", "user", "safety_identifier", "prompt_cache_key" }

--- The text with each of `replace`, an array of {text, what stands there}, replaced in turn.
function request.substituted(text, replace)
  for _, entry in ipairs(replace) do
    local at, parts, from = 1, {}, 1
    while true do
      local first, last = text:find(entry[1], at, true)
      if not first then break end
      parts[#parts + 1] = text:sub(from, first - 1) .. entry[2]
      from, at = last + 1, last + 1
    end
    parts[#parts + 1] = text:sub(from)
    text = table.concat(parts)
  end
  return text
end

--- `replace` as `substituted` takes it, of {[text] = what stands there}: longer texts come first.
function request.replacements(replace)
  local list = {}
  for text, by in next, replace do
    if text ~= "" then list[#list + 1] = { text, by } end
  end
  table.sort(list, function(a, b) return #a[1] > #b[1] or #a[1] == #b[1] and a[1] < b[1] end)
  return list
end

--- The paths among {[text] = what stands there}, the other way: what stands there is put back.
function request.restorations(replace)
  local back = {}
  for text, by in next, replace do
    if text:find "^/" and by:find "^/" then back[by] = text end
  end
  return request.replacements(back)
end

--- What `substituted` does, of all strings of a JSON value but names: a copy.
function request.substituted_value(value, replace)
  if type(value) == "string" then return request.substituted(value, replace) end
  if type(value) ~= "table" then return value end
  local copy = setmetatable({}, getmetatable(value))
  for key, member in next, value do copy[key] = request.substituted_value(member, replace) end
  return copy
end

-- Puts a body into `kept`.
local function add_body(kept, body, known, replace, found)
  if not body or body == "" then return end
  local value = body:find "^%s*[{%[]" and core.decode(body)
  if type(value) == "table" then
    secrets.hide_fields(body, found)
    kept.json = request.substituted_value(secrets.hide_in_value(media.replace(value), known), replace)
  elseif utf8.len(body) then
    kept.body = request.substituted(secrets.hide(secrets.hide_fields(body, found), known), replace)
  else
    kept.body_base64 = core.base64_encode(body)
  end
end

--- The form in which a call ({method, url, headers, body}) is kept. `known` is an array of credentials, to which those
-- that fields of the request hold are added (nil: nowhere) as `found`; `replace` an array of {text, what stands there}.
-- `named` are the names of further headers to keep, a set.
function request.kept(call, known, replace, named, found)
  local kept = { method = call.method or "GET", headers = {} }
  kept.url = request.substituted(secrets.hide(secrets.hide_in_url(call.url, found), known), replace)
  for given, value in next, call.headers or {} do
    local name = given:lower()
    if KEPT[name] or named[name] then kept.headers[name] = request.substituted(secrets.hide(value, known), replace) end
  end
  add_body(kept, call.body, known, replace, found)
  return kept
end

--- The value without the field that a dotted path names; a copy where it has one.
function request.without(value, path)
  local name, rest = path:match "^([^.]+)%.?(.*)$"
  if type(value) ~= "table" or value[name] == nil then return value end
  local copy = setmetatable({}, getmetatable(value))
  for key, member in next, value do copy[key] = member end
  copy[name] = rest ~= "" and request.without(value[name], rest) or nil
  if rest ~= "" and next(copy[name]) == nil then copy[name] = nil end
  return copy
end

--- What of a kept request is compared: {method, url, headers, body}, where `body` is a JSON value. `settings`:
-- {ignore = array of dotted paths, host = false: the host is not compared}.
function request.compared(kept, settings)
  local url, headers, body = kept.url, {}, kept.json
  if settings.host == false then url = url:gsub("^%a[%w+.-]*://[^/?#]*", "", 1) end
  for _, name in ipairs(COMPARED) do headers[name] = (kept.headers or {})[name] end
  if body == nil then body = kept.body or kept.body_base64 or "" end
  if kept.json ~= nil then
    body = media.replace(body)
    for _, path in ipairs(settings.ignore) do body = request.without(body, path) end
  end
  return { method = kept.method, url = url, headers = headers, body = body }
end

--- The key of what is compared: a string.
function request.key(compared) return core.encode(compared) end

return request
