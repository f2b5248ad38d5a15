--- The last look at a cassette before it is written, and the only one of `koine cassette check`: every string of it,
-- and the texts that its streams say in pieces.

local core = require "koine.core"
local secrets = require "koine.net.secrets"

local scan = {}

-- Adds the strings of a decoded event to `joined` by their paths: pieces of one text have one path.
local function join(value, path, joined)
  if type(value) == "string" then
    local list = joined[path] or {}
    joined[path], list[#list + 1] = list, value
  elseif type(value) == "table" then
    path = math.type(value.index) == "integer" and path .. "[" .. value.index .. "]" or path
    for key, member in next, value do join(member, path .. "." .. key, joined) end
  end
end

-- The texts that a body of events or lines of JSON says, path → text.
local function joined_texts(body)
  local joined = {}
  for line in body:gmatch "[^\r\n]+" do
    local json = line:match "^data:%s*({.*)$" or line:match "^%s*({.*)$"
    local value = json and core.decode(json)
    if value then join(value, "", joined) end
  end
  for path, list in next, joined do joined[path] = table.concat(list) end
  return joined
end

-- A path of join, without the point that it begins with.
local function name_of(path) return (path:gsub("^%.", "")) end

-- The first finding in a value: its path and the words for it; nil for none.
local function in_value(value, path, known, allow)
  if type(value) == "string" then
    local words = secrets.found(value, known, allow)
    if words then return path, words end
  elseif type(value) == "table" then
    local keys = {}
    for key in next, value do keys[#keys + 1] = key end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    for _, key in ipairs(keys) do
      local hidden = type(key) == "string" and secrets.found(key, known, allow)
      if hidden then return path .. " (the name of a member)", hidden end
      local inner = math.type(key) and ("%s[%d]"):format(path, key) or path .. "." .. key
      local found, words = in_value(value[key], inner, known, allow)
      if found then return found, words end
    end
  end
end

-- The same in what a response says in pieces, or in base64.
local function in_body(response, path, known, allow)
  local body = response.body
  if type(response.body_base64) == "string" then
    body = core.base64_decode(response.body_base64)
    local words = body and secrets.found(body, known, allow)
    if words then return path .. ".body_base64", words end
  end
  if type(body) ~= "string" then return nil end
  for where, text in next, joined_texts(body) do
    local words = secrets.found(text, known, allow)
    if words then return ("%s.body (the joined text of %s)"):format(path, name_of(where)), words end
  end
end

-- The same in what the lines of a program say in pieces.
local function in_lines(list, path, known, allow)
  local joined = {}
  for _, line in ipairs(list) do
    join(line.came, ".came", joined)
    join(line.sent, ".sent", joined)
    join(line.logged, ".logged", joined)
  end
  for where, pieces in next, joined do
    local words = secrets.found(table.concat(pieces), known, allow)
    if words then return ("%s.lines (the joined text of %s)"):format(path, name_of(where)), words end
  end
end

--- Looks for credentials in a cassette: the path of the first one and words for it, which do not show it; nil for none.
-- `known`: array of credentials; `allow`: array of texts that may stay, nil for none.
function scan.tape(tape, known, allow)
  for i, program in ipairs(tape.programs or {}) do
    local path = ("programs[%d]"):format(i)
    local found, words = in_value(program, path, known, allow)
    if not found then found, words = in_lines(program.lines, path, known, allow) end
    if found then return found, words end
  end
  for i, exchange in ipairs(tape.exchanges) do
    local path = ("exchanges[%d]"):format(i)
    local found, words = in_value(exchange, path, known, allow)
    if not found and type(exchange.response) == "table" then
      found, words = in_body(exchange.response, path .. ".response", known, allow)
    end
    if found then return found, words end
  end
end

return scan
