--- Which kind of file some bytes are: by what they begin with. Names of files decide only where the beginning is the
-- same: among office documents, and among kinds of text.

local errors = require "koine.data.errors"

-- Pattern of the beginning → MIME type. The signatures are those of the formats' specifications.
local BEGINNINGS = {
  { "^\x89PNG\r\n\x1A\n", "image/png" }, { "^\xFF\xD8\xFF", "image/jpeg" }, { "^GIF8[79]a", "image/gif" },
  { "^RIFF....WEBP", "image/webp" }, { "^BM....\0\0\0\0", "image/bmp" }, { "^II%*\0", "image/tiff" },
  { "^MM\0%*", "image/tiff" }, { "^....ftyphei[cxms]", "image/heic" }, { "^....ftypm[is][f]1", "image/heif" },
  { "^....ftypavi[fs]", "image/avif" }, { "^%%PDF%-", "application/pdf" },
}

local OFFICE = "application/vnd.openxmlformats-officedocument."
local OPEN = "application/vnd.oasis.opendocument."

-- Formats that share a container: ending of the name → MIME type.
local ZIP = { docx = OFFICE .. "wordprocessingml.document", xlsx = OFFICE .. "spreadsheetml.sheet",
  pptx = OFFICE .. "presentationml.presentation", odt = OPEN .. "text", ods = OPEN .. "spreadsheet",
  odp = OPEN .. "presentation", epub = "application/epub+zip" }
local OLE = { doc = "application/msword", xls = "application/vnd.ms-excel", ppt = "application/vnd.ms-powerpoint" }

-- Kinds of text that providers tell apart; all others go out as plain text.
local TEXTS = { csv = "text/csv", md = "text/markdown", markdown = "text/markdown", html = "text/html",
  htm = "text/html", xml = "text/xml" }

--- The MIME type of a file's bytes (a string), or nil where they are neither text (UTF-8) nor of a known kind. `name`
-- is the file's, nil for none: its ending tells kinds of text and office documents apart, and nothing else. Raises an
-- ArgumentError for other types of arguments.
return function(bytes, name)
  if type(bytes) ~= "string" then errors.argument("bytes", "string", bytes) end
  if name ~= nil and type(name) ~= "string" then errors.argument("name", "string", name) end
  for _, known in ipairs(BEGINNINGS) do
    if bytes:find(known[1]) then return known[2] end
  end
  local ending = (name or ""):lower():match "%.(%w+)$"
  if bytes:find "^PK\3\4" then return ZIP[ending] end
  if bytes:find "^\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" then return OLE[ending] end
  if bytes == "" or bytes:find("\0", 1, true) or not utf8.len(bytes) then return nil end
  return TEXTS[ending] or "text/plain"
end
