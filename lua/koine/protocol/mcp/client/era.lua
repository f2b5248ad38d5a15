--- Which of MCP's two eras a server is of, and which revision to speak with it: pure, from its answer to
-- server/discover. In the modern era every request carries its version; in the legacy one a session begins with
-- initialize.

local core = require "koine.core"
local errors = require "koine.data.errors"

local era = {}

--- The revisions of the modern era that we know, the newest first.
era.MODERN = { "2026-07-28" }
--- Those of the legacy era.
era.LEGACY = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" }

-- Codes of the modern era alone.
local HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = "-32020", "-32021", "-32022"
local MODERN_CODES = { [HEADER_MISMATCH] = true, [MISSING_CAPABILITY] = true, [UNSUPPORTED_VERSION] = true }

-- Statuses of HTTP behind which no server of the legacy era is meant.
local NO_ERA = { [401] = true, [403] = true, [429] = true }

-- Kinds of errors that the server itself did not say.
local TROUBLE = { connect = true, timeout = true, stream_truncated = true, cancelled = true, limit = true, other = true,
  auth = true, permission = true, rate_limit = true, overloaded = true }

local function first_of(known, listed)
  for _, version in ipairs(known) do
    for _, said in ipairs(listed) do
      if said == version then return version end
    end
  end
end

--- Whether a version is one of the legacy era that we know.
function era.is_legacy(version) return first_of(era.LEGACY, { version }) ~= nil end

local SHOWN = 10 -- versions of a list that an error names

local function words_of(listed)
  local words = {}
  for i = 1, math.min(#listed, SHOWN) do words[i] = tostring(listed[i]) end
  return #words > 0 and table.concat(words, ", ") or "none"
end

--- What a server's list of versions means: "modern", version; "legacy"; or nil, err of kind protocol that names both
-- sides' versions.
function era.of_versions(listed)
  local version = first_of(era.MODERN, listed)
  if version then return "modern", version end
  if first_of(era.LEGACY, listed) then return "legacy" end
  return nil, errors.new { kind = "protocol", message = ("the server speaks MCP of %s; Koine speaks %s and %s"):format(
    words_of(listed), words_of(era.MODERN), words_of(era.LEGACY)) }
end

local function is_array(value) return type(value) == "table" and getmetatable(value) == core.array_mt end

-- An error that the server answered.
local function of_error(err)
  local status = err.status_code
  if err.code == UNSUPPORTED_VERSION then
    local listed = type(err.data) == "table" and err.data.supported
    if is_array(listed) then return era.of_versions(listed) end
  end
  if status and status >= 400 then
    if MODERN_CODES[err.code] then return "modern", era.MODERN[1] end
    if status < 500 and not NO_ERA[status] then return "legacy" end
    return nil, err
  end
  if TROUBLE[err.kind] then return nil, err end
  return "legacy"
end

--- What an answer to server/discover means: `result` (table), or nil and `err`, as a transport returned them; an error
-- of HTTP's has a status_code. "modern", version; "legacy": initialize; or nil, err where it says nothing of the era.
function era.of_answer(result, err)
  if result == nil then return of_error(err) end
  local listed = type(result) == "table" and result.supportedVersions
  if is_array(listed) then return era.of_versions(listed) end
  return "legacy" -- some servers answer any method
end

return era
