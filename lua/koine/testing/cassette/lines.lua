--- Lines of JSON-RPC as cassettes keep, compare and play them. A kept line is {ms, sent} where we said it, and {ms,
-- came} where the program did: a JSON object or array, or the text of any other line; {ms, logged} is a line of the
-- program's standard error. Ids are counted anew in each run: `ids` maps those of one run to those of the other.

local core = require "koine.core"
local media = require "koine.testing.cassette.media"
local request = require "koine.testing.cassette.request"
local secrets = require "koine.net.secrets"

local lines = {}

local LONG = ("%d"):rep(19) -- a number that the reader may not hold as it is
local SUBSCRIPTION, CLIENT = "io.modelcontextprotocol/subscriptionId", "io.modelcontextprotocol/clientInfo"
local CANCELS = { ["notifications/cancelled"] = true, ["$/cancel_request"] = true }

local function is_table(value) return type(value) == "table" end

-- The JSON object or array of a line; nil for any other.
local function decoded(text)
  local value = text:find "^%s*[{%[]" and core.decode(text)
  return is_table(value) and value or nil
end

-- A line in UTF-8: what is not is repaired as the core's reader does it.
local function repaired(text)
  return utf8.len(text) and text or core.decode(core.encode { text })[1]
end

--- What is kept of a line of standard error, or of one that is no JSON: a string. `known` and `replace` as of `kept`.
function lines.kept_log(text, known, replace)
  return request.substituted(secrets.hide(secrets.hide_fields(repaired(text)), known), replace)
end

--- What is kept of a line: a JSON value, or a string. `is_ours`: its media are kept by their hash, as nobody plays
-- them. `known` is an array of credentials, `replace` is that of request.kept.
function lines.kept(text, is_ours, known, replace)
  local value = (is_ours or not text:find(LONG)) and decoded(repaired(text))
  if not value then return lines.kept_log(text, known, replace) end
  if is_ours then value = media.replace(value) end
  return request.substituted_value(secrets.hide_in_value(value, known), replace)
end

-- The key of an id in `ids`.
local function key_of(id) return core.encode(math.type(id) and math.tointeger(id) or id) end

-- A copy of a table (nil for anything else).
local function copy_of(value)
  if not is_table(value) then return nil end
  local copy = setmetatable({}, getmetatable(value))
  for name, member in next, value do copy[name] = member end
  return copy
end

-- A client's info without its version.
local function without_version(info)
  local copy = copy_of(info)
  if copy then copy.version = nil end
  return copy or info
end

-- `_meta` of a request without what differs from run to run.
local function compared_meta(said)
  local copy = copy_of(said)
  if not copy then return said end
  copy.progressToken, copy.traceparent, copy.tracestate = nil, nil, nil
  copy[CLIENT] = without_version(copy[CLIENT])
  if next(copy) then return copy end
end

--- What of one of our kept lines is compared, as difference.words takes it: {method, body}. Ids of our requests, their
-- progress tokens, traces and Koine's version are not. `ids` maps the ids of our requests to recorded ones (nil: they
-- are those), `ignore` is an array of dotted paths.
function lines.compared(kept, ids, ignore)
  if not is_table(kept) then return { method = "text", body = kept } end
  local body = copy_of(media.replace(kept))
  if body.method ~= nil then
    body.id = nil
    local params = copy_of(body.params)
    if params then
      params._meta, params.clientInfo = compared_meta(params._meta), without_version(params.clientInfo)
      if CANCELS[body.method] and params.requestId ~= nil and ids then
        local id = ids[key_of(params.requestId)]
        if id ~= nil then params.requestId = id end
      end
      body.params = params
    end
  end
  for _, path in ipairs(ignore) do body = request.without(body, path) end
  return { method = type(body.method) == "string" and body.method or "answer", body = body }
end

-- The id of a request, and its progress token.
local function names_of(value)
  if not is_table(value) or value.method == nil or value.id == nil then return nil end
  local said = is_table(value.params) and value.params._meta
  return value.id, is_table(said) and said.progressToken or nil
end

--- Notes that the request `sent` is the recorded one: `ids` and `tokens` map recorded names to those of now, `back` the
-- other way.
function lines.pair(sent, recorded, ids, tokens, back)
  local id, token = names_of(sent)
  local old_id, old_token = names_of(recorded)
  if id == nil or old_id == nil then return end
  ids[key_of(old_id)], back[key_of(id)] = id, old_id
  if token ~= nil and old_token ~= nil then tokens[key_of(old_token)] = token end
end

-- A recorded message with the names of now.
local function renamed(value, ids, tokens)
  local copy = copy_of(value)
  if not copy then return value end
  if copy.method == nil then
    if copy.id ~= nil and ids[key_of(copy.id)] ~= nil then copy.id = ids[key_of(copy.id)] end
    return copy
  end
  local params = copy_of(copy.params)
  if not params then return copy end
  if params.progressToken ~= nil and tokens[key_of(params.progressToken)] ~= nil then
    params.progressToken = tokens[key_of(params.progressToken)]
  end
  local said = copy_of(params._meta)
  local id = said and said[SUBSCRIPTION]
  if id ~= nil and ids[key_of(id)] ~= nil then
    said[SUBSCRIPTION] = ids[key_of(id)]
    params._meta = said
  end
  copy.params = params
  return copy
end

-- The same of a line.
local function renamed_line(value, ids, tokens)
  if getmetatable(value) ~= core.array_mt then return renamed(value, ids, tokens) end
  local list = core.array {}
  for i, member in ipairs(value) do list[i] = renamed(member, ids, tokens) end
  return list
end

--- The text of a line that came, as it is played: with the ids of now, and `restore` (as `replace`) put back.
function lines.played(kept, ids, tokens, restore)
  local value = is_table(kept) and kept or decoded(kept)
  local made = value and renamed_line(value, ids, tokens)
  if not is_table(kept) and (not made or core.encode(made) == core.encode(value)) then
    return request.substituted(kept, restore)
  end
  return core.encode(request.substituted_value(made, restore))
end

return lines
