--- Images and documents of files: koine.image.file and koine.document.file make the block that a message takes.

local base64 = require "koine.data.base64"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local files = require "koine.data.files"
local records = require "koine.data.records"

local block = {}

local READ_MAX = 20 << 20 -- bytes: as much as the providers take in a request, about

local function failure(path, code, words)
  return nil, errors.new { kind = "other", code = code, message = ("%s: %s"):format(path, words) }
end

-- An option for the record's constructor, which checks it.
local FIELD = check.any

local MAX = check.integer(1)

-- A record of these fields before the file is read, which refuses what is wrong with them.
local function begin(record, given)
  local fields = { source = "AAAA", media_type = "text/plain" }
  for name, value in next, given do fields[name] = value end
  fields.max = nil
  return record(fields)
end

-- The bytes of the file, or nil, err; an empty one is refused.
local function read(path, max)
  local bytes, err = files.read(path, max or READ_MAX)
  if bytes == "" then return failure(path, "empty", "it is empty") end
  return bytes, err
end

local IMAGE = check.options { max = MAX, media_type = FIELD }

--- The image that a file holds, as koine.image makes one: a block, or nil, err where it cannot be read, is larger than
-- `max` (kind "limit"), empty (code "empty") or no image (code "media_type"). Never waits: anything but a regular file
-- is refused. `options` (nil: none): max = bytes (20 MiB); media_type = the type, where the file's beginning shall not
-- tell it. Raises an ArgumentError.
function block.image(path, options)
  check.path(path, "path")
  local given = IMAGE(options == nil and {} or options)
  local made = begin(records.image, given)
  local bytes, err = read(path, given.max)
  if not bytes then return nil, err end
  local type = given.media_type or files.media_type(bytes, path)
  if not given.media_type and not (type and type:find "^image/") then
    return failure(path, "media_type", "no image (PNG, JPEG, GIF, WebP, HEIC, HEIF, AVIF, BMP, TIFF)"
      .. (type and (", but %s: koine.document.file takes it"):format(type) or ""))
  end
  made.source, made.media_type = base64(bytes), type
  return made
end

local DOCUMENT = check.options { max = MAX, media_type = FIELD, title = FIELD, context = FIELD, citations = FIELD }

--- The document that a file holds, as koine.document makes one: a PDF, text in UTF-8, or an office document; as image.
-- Further options: title (the file's name, without folders), context, citations.
function block.document(path, options)
  check.path(path, "path")
  local given = DOCUMENT(options == nil and {} or options)
  if given.title == nil then given.title = path:match "[^/]*$" end
  local made = begin(records.document, given)
  local bytes, err = read(path, given.max)
  if not bytes then return nil, err end
  local type = given.media_type or files.media_type(bytes, path)
  if not type then return failure(path, "media_type", "neither a PDF, text in UTF-8 nor an office document") end
  if not given.media_type and type:find "^image/" then
    return failure(path, "media_type", ("no document, but %s: koine.image.file takes it"):format(type))
  end
  made.source, made.media_type = base64(bytes), type
  return made
end

return block
