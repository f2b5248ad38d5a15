--- Cassettes as files: JSON with sorted keys and a line for each member, so that a diff can be read. Fields that this
-- version does not know stay as they are.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local files = require "koine.data.files"
local form = require "koine.testing.cassette.form"
local version = require "koine.data.version"

local file = {}

local FORMAT = "koine.cassette.v1"
local SAME_MAJOR = "^koine%.cassette%.v1[%.%d]*$"
local FILE_MAX = 256 << 20 -- bytes

--- A cassette without exchanges.
function file.new()
  return { format = FORMAT, koine = version, recorded = os.date("!%Y-%m-%dT%H:%M:%SZ"), exchanges = core.array {} }
end

--- Reads the cassette at `path`: its table; nil, nil where there is no file; nil and words where it cannot be used.
function file.read(path)
  local text, err = files.read(path, FILE_MAX)
  if not text then return nil, err.code ~= "absent" and errors.words(err) or nil end
  local cassette, problem = core.decode(text)
  if type(cassette) ~= "table" then
    return nil, ("no JSON object (%s)"):format(problem and problem.message or errors.describe(cassette))
  end
  if type(cassette.format) ~= "string" or not cassette.format:find(SAME_MAJOR) then
    return nil, ("no cassette that this version can read (format %s)"):format(errors.describe(cassette.format))
  end
  problem = form.problem(cassette)
  if problem then return nil, problem end
  return cassette
end

-- Whether a value is written in one line.
local function is_plain(value)
  if type(value) ~= "table" or next(value) == nil then return true end
  if not check.is_list(value) then return false end
  for _, member in ipairs(value) do
    if type(member) == "table" and not (#member == 2 and math.type(member[2])) then return false end
  end
  return math.type(value[1]) ~= nil or type(value[1]) == "table"
end

-- Adds the text of a value to `parts`, its members behind `margin`.
local function write(parts, value, margin)
  if is_plain(value) then
    parts[#parts + 1] = core.encode(value)
    return
  end
  local list, keys, inner = check.is_list(value), {}, margin .. " "
  for key in next, value do keys[#keys + 1] = key end
  table.sort(keys, not list and core.before or nil)
  parts[#parts + 1] = list and "[" or "{"
  for i, key in ipairs(keys) do
    parts[#parts + 1] = (i > 1 and "," or "") .. inner .. (list and "" or core.encode(key) .. ": ")
    write(parts, value[key], inner)
  end
  parts[#parts + 1] = margin .. (list and "]" or "}")
end

--- The text of a cassette.
function file.encode(cassette)
  local parts = {}
  write(parts, cassette, "\n")
  return table.concat(parts) .. "\n"
end

--- Replaces the file at `path` in one step: true, or nil, err and the old file. A text that `read` would not take is
-- not written.
function file.write(path, cassette)
  local text = file.encode(cassette)
  if #text <= FILE_MAX then return files.write(path, text) end
  return nil, errors.new { kind = "limit", code = "file",
    message = ("cassette %s: not written: longer than %d MiB"):format(path, FILE_MAX >> 20) }
end

return file
