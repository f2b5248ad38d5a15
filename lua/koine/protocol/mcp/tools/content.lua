--- What a tool of a server said, as blocks for a model. Everything in it is a stranger's: how much there may be is
-- bounded, what no provider takes becomes a line of text, and no data becomes a URL that a provider would fetch. Texts
-- stay as they are; in the lines that are made here, white space and control characters are single spaces.

local core = require "koine.core"
local media_type = require("koine.data.files").media_type
local text = require "koine.data.text"

local content = {}

local ITEMS_MAX = 256
local TEXT_MAX = 1 << 20   -- bytes, in all items together
local FIELD_MAX = 2048     -- bytes of a field in a line that is made here
local SNIFFED = 64         -- characters of base64 that tell an image's type

-- The types that every provider takes.
local IMAGES = { ["image/png"] = true, ["image/jpeg"] = true, ["image/gif"] = true, ["image/webp"] = true }

-- A field in one line; `default` where it is no text.
local function line(value, default)
  if type(value) ~= "string" or value == "" then return default end
  return (text.cut(value, FIELD_MAX):gsub("[%s%c]+", " "))
end

-- The number of bytes that a base64 text stands for, about: it is not read.
local function size_of(data)
  if type(data) ~= "string" then return 0 end
  return math.max(0, #data * 3 // 4 - #data:sub(-2):match "=*$")
end

local function not_shown(what, media, data)
  return ("[%s, %s, %d bytes: not shown]"):format(what, line(media, "no type"), size_of(data))
end

-- The data without white space, where they are base64 that providers take as that type; else nil.
local function base64(data, media, is_document)
  if type(data) ~= "string" then return nil end
  local kept = data:gsub("%s+", "")
  if kept == "" or kept:find "[^A-Za-z0-9+/=]" then return nil end
  return core.check_source(kept, media, is_document) == nil and kept or nil
end

-- The image of these data, or nil. Its beginning says the type; what the server says counts where that is unknown.
local function image(data, claimed)
  if type(data) ~= "string" or type(claimed) ~= "string" then return nil end
  local media = claimed:lower():gsub("%s*;.*$", "")
  if media == "image/jpg" then media = "image/jpeg" end
  local beginning = core.base64_decode(data:sub(1, SNIFFED))
  local found = beginning and media_type(beginning)
  if found and IMAGES[found] then media = found end
  local source = IMAGES[media] and base64(data, media, false)
  return source and { type = "image", source = source, media_type = media } or nil
end

local function document(data, claimed)
  local source = claimed == "application/pdf" and base64(data, claimed, true)
  return source and { type = "document", source = source, media_type = claimed } or nil
end

-- An embedded resource, as the items below.
local function resource(given)
  if type(given) ~= "table" then return "[a resource without contents]" end
  local uri = line(given.uri, "no URI")
  if type(given.text) == "string" then return uri .. "\n" .. given.text end
  return not_shown("resource " .. uri, given.mimeType, given.blob),
    image(given.blob, given.mimeType) or document(given.blob, given.mimeType)
end

-- "NAME (URI, TYPE): DESCRIPTION"
local function link(item)
  local media, description = line(item.mimeType), line(item.description)
  return ("%s (%s%s)%s"):format(line(item.name, line(item.title, "resource")), line(item.uri, "no URI"),
    media and ", " .. media or "", description and ": " .. description or "")
end

-- By type of an item: function(item) → its text, and the block that says more than that, or nil.
local ITEMS = {
  text = function(item) return type(item.text) == "string" and item.text or "[a text without text]" end,
  image = function(item) return not_shown("image", item.mimeType, item.data), image(item.data, item.mimeType) end,
  audio = function(item) return not_shown("audio", item.mimeType, item.data) end,
  resource_link = link,
  resource = function(item) return resource(item.resource) end,
}

local function shown(item)
  if type(item) ~= "table" then return "[an item that is no object: not shown]" end
  local make = type(item.type) == "string" and ITEMS[item.type]
  if make then return make(item) end
  return ('[an item of the unknown type "%s": not shown]'):format(line(item.type, "?"))
end

-- Adds a text as far as there is room for it; returns what is left of the room, and how many bytes found none.
local function add_text(blocks, whole, room)
  local kept = text.cut(whole, room)
  if kept ~= "" then blocks[#blocks + 1] = { type = "text", text = kept } end
  return room - #kept, #whole - #kept
end

local function note(blocks, format, n)
  if n > 0 then blocks[#blocks + 1] = { type = "text", text = format:format(n) } end
end

--- The blocks of what client:call returns: a new array of text, image and document blocks, empty where the result says
-- nothing. `result` has content (array of items as they came), structured (any value, or nil) and is_error. At most 256
-- items, and 1 MiB of text, which is cut at a character; a text at the end says what was left out. Where there is no
-- item, `structured` is the text. An error has text only, as providers demand. Never raises for what a server may say.
function content.blocks(result)
  local items = type(result.content) == "table" and result.content or {}
  local blocks, room, lost = core.array {}, TEXT_MAX, 0
  local function add(words, block)
    local cut = 0
    if block and not result.is_error then blocks[#blocks + 1] = block
    else room, cut = add_text(blocks, words, room) end
    lost = lost + cut
  end
  for i = 1, math.min(#items, ITEMS_MAX) do add(shown(items[i])) end
  if #items == 0 and result.structured ~= nil then add(core.encode(result.structured)) end
  note(blocks, "[%d bytes of text were left out]", lost)
  note(blocks, "[%d more items were left out]", #items - ITEMS_MAX)
  return blocks
end

return content
