--- Signatures of requests to AWS as the loopback provider judges them: made anew from what came over the wire, for the
-- one pair of keys that it knows. Pure but for the clock.

local calendar = require "koine.data.calendar"
local core = require "koine.core"

local signature = {}

--- The keys that the loopback provider knows; behind AHEAD its clock is an hour before ours, EXPIRED are past their
-- time.
signature.keys = { AKIDLOOPBACK = "loopback/secret+key", AKIDLOOPBACKAHEAD = "loopback/secret+key",
  AKIDLOOPBACKEXPIRED = "loopback/secret+key" }
--- The session token that the right credentials have.
signature.session_token = "loopback-session-token"
--- A region that the loopback provider is not in.
signature.elsewhere = "xx-elsewhere-1"

local HOUR, TOLERANCE = 3600, 300
local STAMP = "^(%d%d%d%d)(%d%d)(%d%d)T(%d%d)(%d%d)(%d%d)Z$"

local function hex(bytes) return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end

-- Unix seconds of a date as AWS writes it, nil when it is not one.
local function seconds(stamp)
  local year, month, day, hour, minute, second = (stamp or ""):match(STAMP)
  if not year then return nil end
  local days = calendar.days(tonumber(year), tonumber(month), tonumber(day))
  return ((days * 24 + tonumber(hour)) * 60 + tonumber(minute)) * 60 + tonumber(second)
end

-- The service that a path belongs to: of the runtime and its lists, else Mantle's.
local function service_of(path)
  return (path:find "^/model/" or path:find "^/foundation%-models") and "bedrock" or "bedrock-mantle"
end

--- The time by the clock that the request with this Authorization header is judged by.
function signature.now(authorization)
  local ahead = (authorization or ""):find("Credential=AKIDLOOPBACKAHEAD/", 1, true)
  return core.wall() + (ahead and HOUR or 0)
end

-- The signature that a request should have.
local function expected(request, fields, stamp)
  local lines = {}
  for name in fields.signed:gmatch "[^;]+" do
    local value = request.headers[name] or ""
    lines[#lines + 1] = name .. ":" .. value:match "^%s*(.-)%s*$":gsub("%s+", " ") .. "\n"
  end
  local path, query = request.target:match "^([^?]*)%??(.*)$"
  local twice = path:gsub("[^A-Za-z0-9%-._~/]", function(c) return ("%%%02X"):format(c:byte()) end)
  local canonical = table.concat({ request.method, twice, query, table.concat(lines), fields.signed,
    hex(core.sha256(request.body)) }, "\n")
  local key = "AWS4" .. signature.keys[fields.id]
  for _, word in ipairs { fields.day, fields.region, fields.service, "aws4_request" } do
    key = core.hmac_sha256(key, word)
  end
  local scope = ("%s/%s/%s/aws4_request"):format(fields.day, fields.region, fields.service)
  return hex(core.hmac_sha256(key, ("AWS4-HMAC-SHA256\n%s\n%s\n%s"):format(stamp, scope, hex(core.sha256(canonical)))))
end

--- The problem with a request that claims to be signed: the type of the error without "Exception", and its message; nil
-- when there is none.
function signature.problem(request)
  local headers, fields = request.headers, {}
  local stamp = headers["x-amz-date"]
  fields.id, fields.day, fields.region, fields.service, fields.signed, fields.signature = headers.authorization:match(
    "^AWS4%-HMAC%-SHA256 Credential=([^/]+)/(%d+)/([^/]+)/([^/]+)/aws4_request, " ..
    "SignedHeaders=([^,]+), Signature=(%x+)$")
  local time = seconds(stamp)
  if not fields.id or not time then
    return "IncompleteSignature", "Authorization header requires Credential, SignedHeaders, Signature and a date"
  end
  for _, name in ipairs { "content-type", "host", "x-amz-date", "x-amz-security-token" } do
    if headers[name] and not (";" .. fields.signed .. ";"):find(";" .. name .. ";", 1, true) then
      return "InvalidSignature", "The header " .. name .. " is not signed."
    end
  end
  local token = headers["x-amz-security-token"]
  if not signature.keys[fields.id] or token and token ~= signature.session_token then
    return "UnrecognizedClient", "The security token included in the request is invalid."
  elseif fields.id:find "EXPIRED$" then
    return "ExpiredToken", "The security token included in the request is expired"
  elseif fields.region == signature.elsewhere then
    return "InvalidSignature", "Credential should be scoped to a valid region."
  elseif fields.service ~= service_of(request.path) or stamp:sub(1, 8) ~= fields.day then
    return "InvalidSignature", ("Credential should be scoped to the service %s and to the request's date."):format(
      service_of(request.path))
  elseif expected(request, fields, stamp) ~= fields.signature then
    return "InvalidSignature", "The request signature we calculated does not match the signature you provided."
  elseif time < signature.now(headers.authorization) - TOLERANCE then
    return "InvalidSignature", "Signature expired: " .. stamp .. " is now earlier than the time of the request."
  elseif time > signature.now(headers.authorization) + TOLERANCE then
    return "InvalidSignature", "Signature not yet current: " .. stamp .. " is still later than now."
  end
end

return signature
