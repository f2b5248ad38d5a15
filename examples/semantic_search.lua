-- semantic_search.lua: searches the text files of a folder by meaning, with packed vectors in an SQLite file.
-- Paragraphs that it knows are not embedded again. Needs lua-sql-sqlite3.
-- Usage: lua5.4 examples/semantic_search.lua FOLDER QUESTION [PROVIDER/MODEL], by default with OpenAI.
local koine = require "koine"

local found, driver = pcall(require, "luasql.sqlite3")
if not found then error("this example needs the package lua-sql-sqlite3 (LuaRocks: luasql-sqlite3)", 0) end

local folder, question, name = arg[1], arg[2], arg[3] or "openai/text-embedding-3-small"
if not question then error("usage: semantic_search.lua FOLDER QUESTION [PROVIDER/MODEL]", 0) end
local provider, model = name:match "^([^/]+)/(.+)$"
local adapter = koine[provider] { model = model, base_url = os.getenv "KOINE_BASE_URL" }

local environment = assert(driver.sqlite3())
local db = assert(environment:connect(folder .. "/.search.sqlite"))
assert(db:execute [[CREATE TABLE IF NOT EXISTS pieces (model TEXT, path TEXT, text TEXT, vector TEXT,
  PRIMARY KEY (model, path, text))]])

-- SQLite's text ends at a zero byte: vectors are kept in hexadecimal.
local function hex(bytes) return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end
local function bytes(text) return (text:gsub("..", function(two) return string.char(tonumber(two, 16)) end)) end
local function quoted(text) return "'" .. db:escape(text) .. "'" end

local function each(query)
  local cursor = assert(db:execute(query))
  return function() return cursor:fetch() end
end

-- Paragraphs of the folder's files: {path, text}.
local function pieces()
  local list, inside = {}, folder:gsub("'", "'\\''")
  for path in assert(io.popen(("find '%s' -name '*.md' -o -name '*.txt'"):format(inside))):lines() do
    local file <close> = assert(io.open(path))
    for text in (file:read "a" .. "\n\n"):gmatch "(.-)\n%s*\n" do
      if text:find "%S" then list[#list + 1] = { path, text } end
    end
  end
  return list
end

-- Embeds the paragraphs that are not known yet.
local known, new, texts = {}, {}, {}
for path, text in each("SELECT path, text FROM pieces WHERE model = " .. quoted(name)) do
  known[path .. "\0" .. text] = true
end
for _, piece in ipairs(pieces()) do
  if not known[piece[1] .. "\0" .. piece[2]] then
    known[piece[1] .. "\0" .. piece[2]] = true
    new[#new + 1], texts[#texts + 1] = piece, piece[2]
  end
end
local result = assert(adapter:embed(texts, { model = model, purpose = "document", as = "packed" }))
for i, piece in ipairs(new) do
  assert(db:execute(("INSERT INTO pieces VALUES (%s, %s, %s, '%s')"):format(quoted(name), quoted(piece[1]),
    quoted(piece[2]), hex(result.vectors[i]))))
end
print(("%d new paragraphs"):format(#new))

-- The nearest three.
local asked = assert(adapter:embed(question, { model = model, purpose = "query", as = "packed" })).vectors[1]
local hits = {}
for path, text, vector in each("SELECT path, text, vector FROM pieces WHERE model = " .. quoted(name)) do
  hits[#hits + 1] = { koine.vector.dot(asked, bytes(vector)), path, text }
end
table.sort(hits, function(a, b) return a[1] > b[1] end)
for i = 1, math.min(3, #hits) do
  print(("%.3f  %s\n  %s"):format(hits[i][1], hits[i][2], (hits[i][3]:gsub("%s+", " "))))
end
db:close()
environment:close()
