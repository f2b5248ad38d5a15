-- source.lua: what the checks beside it share: the code of a file without its comments, and paths. What is taken out
-- becomes spaces, so that every line keeps its number.

local source = {}

local function blank(text) return (text:gsub("[^\n]", " ")) end

-- Where the string that begins with a quote at `i` ends.
local function string_end(text, i)
  local stops, at = "[\\\n" .. text:sub(i, i) .. "]", i + 1
  while true do
    at = text:find(stops, at)
    if not at then return #text end
    if text:byte(at) ~= 0x5C then return at end
    at = at + 2 -- a backslash, and what it takes its meaning from
  end
end

-- Where the long bracket that begins at `i` ends; nil when there is none.
local function bracket_end(text, i)
  local level = text:match("^%[(=*)%[", i)
  if not level then return nil end
  local _, last = text:find("]" .. level .. "]", i, true)
  return last or #text
end

-- Where the comment that begins at `i` ends; nil when there is none.
local function lua_comment(text, i)
  if text:sub(i, i + 1) ~= "--" then return nil end
  return bracket_end(text, i + 2) or (text:find("\n", i, true) or #text + 1) - 1
end

local function c_comment(text, i)
  if text:sub(i, i + 1) == "//" then return (text:find("\n", i, true) or #text + 1) - 1 end
  if text:sub(i, i + 1) ~= "/*" then return nil end
  local _, last = text:find("*/", i + 2, true)
  return last or #text
end

--- The text of a source file without its comments; `is_c`: by C's rules, else by Lua's. Strings stay.
function source.code(text, is_c)
  local out, i, comment = {}, 1, is_c and c_comment or lua_comment
  local starts = is_c and "[\"'/]" or "[\"'%-%[]"
  while true do
    local at = text:find(starts, i)
    if not at then break end
    out[#out + 1] = text:sub(i, at - 1)
    local last = comment(text, at)
    if last then
      out[#out + 1] = blank(text:sub(at, last))
    else
      local c = text:sub(at, at)
      last = (c == '"' or c == "'") and string_end(text, at) or not is_c and bracket_end(text, at) or at
      out[#out + 1] = text:sub(at, last)
    end
    i = last + 1
  end
  return table.concat(out) .. text:sub(i)
end

--- The number of the line that byte `at` of a text is in.
function source.line(text, at)
  local _, n = text:sub(1, at - 1):gsub("\n", "")
  return n + 1
end

--- The code of the file at a path.
function source.read(path)
  local file <close> = assert(io.open(path, "rb"))
  return source.code(file:read "a", path:find "%.[ch]$" ~= nil)
end

--- The modules of Koine that the code of a Lua file requires, as an array of {name, line}: every name behind `require`
-- or `package`, however it is written. A name that ends in a dot is completed at run time.
function source.requires(code)
  local list = {}
  for at, name in code:gmatch "()[\"'%[](koine%.?[%w_.]*)[\"'%]]" do
    local before = code:sub(math.max(at - 40, 1), at - 1)
    if before:find "require[%s(,%[]*$" or before:find "package%.%w+[%s(%[]*$" then
      list[#list + 1] = { name = name, line = source.line(code, at) }
    end
  end
  return list
end

--- The paths that find(1) prints for these arguments, sorted.
function source.find(where)
  local list, pipe <close> = {}, assert(io.popen("find " .. where .. " | LC_ALL=C sort"))
  for path in pipe:lines() do list[#list + 1] = path end
  return list
end

--- The path that a link in a page of `folder` ("docs/") leads to: without "." and "..".
function source.resolve(folder, path)
  local parts = {}
  for part in (folder .. path):gmatch "[^/]+" do
    if part == ".." then table.remove(parts) elseif part ~= "." then parts[#parts + 1] = part end
  end
  return (folder:find "^/" and "/" or "") .. table.concat(parts, "/")
end

return source
