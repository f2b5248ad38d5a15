--- Reads the command line's input: files, the standard input, the words of a prompt.

local failure = require "koine.cli.failure"
local json = require "koine.cli.json"
local koine = require "koine"
local terminal = require "koine.cli.terminal"

local input = {}

local FILE_MAX = 20 << 20 -- bytes of one file, and of the standard input

local function too_large(name) failure.cannot(name, ("larger than %d MiB"):format(FILE_MAX >> 20)) end

-- All bytes of an open file, waited for; for nil, why it could not be opened.
local function read(name, file, why)
  local bytes
  if file then bytes, why = file:read(FILE_MAX + 1) end
  if not bytes and why then failure.cannot(name, why) end
  if bytes and #bytes > FILE_MAX then too_large(name) end
  return bytes or ""
end

-- All bytes of a file. Only a descriptor that the shell has opened for us ("<(git diff)") is waited for.
local function read_file(path)
  if path == "/dev/stdin" or path:find "^/dev/fd/%d+$" then return read(path, io.open(path, "rb")) end
  if path == "" then failure.cannot("FILE", "a file name is required") end
  local bytes, err = koine.files.read(path, FILE_MAX)
  if bytes then return bytes end
  if err.kind == "limit" then too_large(path) end
  failure.cannot(path, err.message)
end

--- The table that a file of JSON holds. Fails as wrong use when it holds none.
function input.read_json(path)
  return json.decode(read_file(path)) or failure.cannot(path, "no JSON object or array")
end

-- Returns the text as it is, once it is checked.
local function checked(text, name)
  if text:find("\0", 1, true) then
    failure.cannot(name, "neither text nor an image (PNG, JPEG, GIF, WebP, …) nor a PDF or an office document")
  end
  if not utf8.len(text) then terminal.say("%s: not UTF-8; what is wrong goes out as U+FFFD", name) end
  return text
end

--- Returns the text, once it is checked, in UTF-8: what goes out, and is kept. Fails as wrong use for bytes that are no
-- text.
function input.as_text(text, name) return json.legal(checked(text, name)) end

--- The text of a file, in UTF-8. Fails as wrong use where it cannot be read or is no text.
function input.read_text(path) return input.as_text(read_file(path), path) end

--- The text of a file of Lua, as it is. Fails as wrong use in the same way.
function input.read_code(path) return checked(read_file(path), path) end

-- The block of an address, which the provider fetches: its ending tells documents from images.
local function linked(url)
  local block = url:lower():find "%.pdf$" and koine.document or koine.image
  return block { source = url }
end

-- A file as a block; its first bytes tell its type. "-" is the standard input.
local function attachment(path)
  if path:find "^https?://" then return linked(path) end
  local bytes = path == "-" and read("standard input", io.stdin) or read_file(path)
  local kind = koine.files.media_type(bytes, path)
  if kind and not kind:find "^text/" then
    local block = kind:find "^image/" and koine.image or koine.document
    return block { source = koine.base64(bytes), media_type = kind }
  end
  return koine.text { text = ('<file path="%s">\n%s\n</file>'):format(path, input.as_text(bytes, path)) }
end

--- The text on the standard input, "" where that is a terminal, unless the user asked for it (`asked`, nil: false).
function input.piped(asked)
  return input.as_text(terminal.input and not asked and "" or read("standard input", io.stdin), "standard input")
end

--- Whether the words of the command line (an array) are "-" alone, which is the standard input, also where that is a
-- terminal.
function input.is_asked_for(words) return #words == 1 and words[1] == "-" end

--- Returns the user's message, an array of blocks: the files, the standard input where it is no terminal, the words of
-- the command line. A template (nil: none) makes its question of both texts. Fails as wrong use when there is none.
function input.said_by(args, template)
  local blocks, texts = {}, {}
  for i, path in ipairs(args.file) do blocks[i] = attachment(path) end
  local is_input = input.is_asked_for(args.prompt)
  local piped = input.piped(is_input)
  for _, text in ipairs { piped, is_input and "" or input.as_text(table.concat(args.prompt, " "), "the prompt") } do
    if text:find "%S" then texts[#texts + 1] = text end
  end
  if template then
    local question = template:question(table.concat(texts, "\n"):match "^(.-)%s*$")
    texts = { question:find "%S" and question or nil }
  end
  for _, text in ipairs(texts) do blocks[#blocks + 1] = koine.text { text = text } end
  if texts[1] then return blocks end
  failure.fail(failure.WRONG_USE, "a prompt is required, as an argument or on the standard input")
end

return input
