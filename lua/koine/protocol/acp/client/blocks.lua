--- What a user says to an agent: Koine's blocks as those of the protocol, each where it was. Nothing is merged, and
-- what the agent cannot take is an error that names the block.

local core = require "koine.core"
local errors = require "koine.data.errors"
local records = require "koine.data.records"

local blocks = {}

local function refusal(i, words)
  return errors.new { kind = "invalid_request", code = "block", retryable = false,
    message = ("blocks[%d]: %s"):format(i, words) }
end

-- MIME type and base64 of a source that is a data: URL or base64 itself.
local function data_of(block)
  local media_type, data = block.source:match "^data:([^;,]+);base64,(.*)$"
  if media_type then return media_type, data end
  return block.media_type, block.source
end

local function is_url(source) return source:find "^https?://" ~= nil end

-- The last part of a URL's path, for people.
local function name_of(url) return url:gsub("[?#].*$", ""):match "([^/]+)/*$" or url end

local function link(block)
  return { type = "resource_link", uri = block.source, name = block.title or name_of(block.source),
    mimeType = block.media_type }
end

local convert = {}

function convert.text(block) return { type = "text", text = block.text } end

function convert.image(block, can)
  if is_url(block.source) then return link(block) end
  if not can.image then return nil, "the agent takes no images" end
  local media_type, data = data_of(block)
  return { type = "image", data = data, mimeType = media_type }
end

local function is_text(media_type) return media_type:find "^text/" ~= nil or media_type == "application/json" end

function convert.document(block, can, i)
  if is_url(block.source) then return link(block) end
  local media_type, data = data_of(block)
  local name = block.title or "document-" .. i
  local text = is_text(media_type) and core.base64_decode(data)
  if not text and not can.embedded then return nil, "the agent takes no documents but text" end
  if not can.embedded then return { type = "text", text = ("--- %s ---\n%s"):format(name, text) } end
  return { type = "resource", resource = { uri = "file:///" .. name:gsub("[^%w._-]", "_"), mimeType = media_type,
    text = text or nil, blob = not text and data or nil } }
end

--- The blocks (a text, or an array of blocks of a user's message) for an agent with these capabilities: array; or nil,
-- err of kind invalid_request that names the block. Raises an ArgumentError for what is no message.
function blocks.convert(given, can)
  if type(given) == "string" then given = { { type = "text", text = given } } end
  records.check_messages({ { role = "user", content = given } }, "blocks")
  local made = core.array {}
  for i, block in ipairs(given) do
    local one, why
    if convert[block.type] then one, why = convert[block.type](block, can, i) else why = "no " .. block.type end
    if not one then return nil, refusal(i, why) end
    made[i] = one
  end
  return made
end

return blocks
