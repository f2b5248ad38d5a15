--- What the user wrote: ACP's blocks as blocks of a message.

local errors = require "koine.data.errors"
local failure = require "koine.protocol.acp.serve.failure"
local records = require "koine.data.records"

local prompt = {}

local DOCUMENTS = { ["application/pdf"] = true }
local IMAGES = { ["image/png"] = true, ["image/jpeg"] = true, ["image/gif"] = true, ["image/webp"] = true }

local function text(words) return { type = "text", text = words } end

-- The path that a URI names; the URI itself where it is no file's.
local function place_of(uri)
  local path = uri:match "^file://[^/]*(/.*)$"
  if not path then return uri end
  return (path:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

local function is_text(value) return type(value) == "string" and utf8.len(value) ~= nil end

-- An attribute of a tag.
local function quoted(words) return (words:gsub('[%c"<>]', " ")) end

local blocks = {}

function blocks.text(block)
  if is_text(block.text) then return text(block.text) end
end

function blocks.image(block)
  if is_text(block.data) and is_text(block.mimeType) then
    return { type = "image", source = block.data, media_type = block.mimeType }
  end
end

function blocks.resource_link(block)
  if not is_text(block.uri) then return nil end
  local name = is_text(block.name) and block.name or place_of(block.uri)
  return text(("[%s](%s)"):format(name:gsub("[%c%[%]]", " "), block.uri))
end

function blocks.resource(block)
  local resource = block.resource
  if type(resource) ~= "table" or not is_text(resource.uri) then return nil end
  local place = place_of(resource.uri)
  if is_text(resource.text) then
    return text(('<file path="%s">\n%s\n</file>'):format(quoted(place), resource.text))
  end
  local media = is_text(resource.blob) and resource.mimeType
  if IMAGES[media] then return { type = "image", source = resource.blob, media_type = media } end
  if DOCUMENTS[media] then return { type = "document", source = resource.blob, media_type = media, title = place } end
  return media and text(("[%s](%s)"):format(place, resource.uri)) or nil
end

--- The blocks of a message for an array of ACP's: them, or nil, err.
function prompt.blocks(given)
  if type(given) ~= "table" or #given == 0 then return failure.params "prompt: array of blocks expected" end
  local list = {}
  for i, block in ipairs(given) do
    local make = type(block) == "table" and blocks[block.type]
    if not make then
      return failure.params("prompt[%d]: text, image, resource or resource_link expected, got %s", i - 1,
        type(block) == "table" and tostring(block.type) or type(block))
    end
    list[i] = make(block)
    if not list[i] then return failure.params("prompt[%d]: not a block of type %s", i - 1, block.type) end
    local ok, err = errors.try(records.check_message, { role = "user", content = { list[i] } }, "message")
    if not ok and err then return failure.params("prompt[%d]: %s", i - 1, errors.words(err)) end
  end
  return list
end

--- The first words of a prompt, of at most `max` characters, for a title; nil where it has none.
function prompt.title(list, max)
  for _, block in ipairs(list) do
    local line = block.type == "text" and not block.text:find "^<file " and block.text:match "[^%s][^\n]*"
    if line then
      local stop = utf8.offset(line, max + 1)
      return stop and stop <= #line and line:sub(1, stop - 1) .. "…" or line
    end
  end
end

return prompt
