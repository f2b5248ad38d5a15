--- Reads a file of Lua that holds data: settings, a template. It runs in an empty environment, so it can call and read
-- nothing, and returns a table.

local failure = require "koine.cli.failure"
local input = require "koine.cli.input"
local koine = require "koine"
local nearest = require "koine.cli.arguments.nearest"

local data_file = {}

local NAME = "==" -- of the code, in Lua's errors

local function wrong(format, ...) failure.fail(failure.WRONG_USE, format, ...) end

-- The error of Lua in the file, with its path: Lua itself would cut a long one.
local function placed(path, why)
  local line, words = why:match "^=:(%d+): (.*)$"
  return line and ("%s:%s: %s"):format(path, line, words) or ("%s: %s"):format(path, why)
end

--- Whether there is something at a path; where that cannot be read, the error too.
function data_file.is_there(path)
  local bytes, err = koine.files.read(path, 1)
  if bytes or err.kind == "limit" then return true end
  return err.code ~= "absent", err
end

--- The table that the file at `path` returns. Fails as wrong use for a file that cannot be read, is no Lua, or returns
-- something else; the message begins with path and, where it is known, line.
function data_file.read(path)
  local chunk, why = load(input.read_code(path), NAME, "t", {})
  if not chunk then wrong("%s", placed(path, why)) end
  local ran, value = pcall(chunk)
  if not ran then wrong("%s", placed(path, tostring(value))) end
  if type(value) ~= "table" then wrong("%s: it returns no table: `return { … }` expected", path) end
  return value
end

-- "path:line" of the only line that gives a field of this name; else the path.
local function place(path, name)
  local n, found = 0, nil
  for line in (input.read_code(path) .. "\n"):gmatch "(.-)\n" do
    n = n + 1
    if line:find("%f[%w_]" .. name:gsub("%W", "%%%0") .. "%f[^%w_]\"?%]?%s*=") then
      if found then return path end
      found = n
    end
  end
  return found and path .. ":" .. found or path
end

--- Fails as wrong use for a field that is wrong: names file, line and field. `what` is what is said of it.
function data_file.refuse(path, field, format, ...)
  wrong("%s: %s: " .. format, place(path, field:match "[^.]+$"), field, ...)
end

--- What an error says behind an unknown word: the nearest of the known `names` (an array), else all of them.
function data_file.hint(word, names)
  local near = nearest(word, names, 2)
  if near then return ('; did you mean "%s"?'):format(near) end
  return names[1] and "; known are " .. table.concat(names, ", ") or ""
end

--- Fails as wrong use for an unknown name, with the nearest of `names` (an array). `what` is what it should be.
function data_file.unknown(path, field, what, names)
  data_file.refuse(path, field, "unknown %s%s", what, data_file.hint(field:match "[^.]+$", names))
end

--- Checks the fields of a table of a file: `fields` is {name = type of Lua, or a function of value and the field's name
-- in full that returns what was expected, nil if all is well}; `before` (nil: "") stands before names in messages.
function data_file.check(path, given, fields, before)
  local names = {}
  for name in pairs(fields) do names[#names + 1] = name end
  table.sort(names)
  for name, value in pairs(given) do
    local field, is = (before or "") .. tostring(name), fields[name]
    if not is then data_file.unknown(path, field, "field", names) end
    local expected = is
    if type(is) == "function" then expected = is(value, field) elseif type(value) == is then expected = nil end
    if expected then data_file.refuse(path, field, "%s expected, got a %s", expected, type(value)) end
  end
end

return data_file
