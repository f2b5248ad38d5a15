--- A log in a file of SQLite, by lua-sql-sqlite3: one table, a row for each exchange with its record as JSON. A file
-- without our mark (application_id) is somebody else's, and is not opened by SQLite at all.

local failure = require "koine.cli.failure"
local is_entry = require "koine.cli.logs.entry"
local json = require "koine.cli.json"

local database = {}

local methods = {}
local metatable = { __index = methods }

local MAGIC, MARK_AT = "SQLite format 3\0", 68 -- Source: sqlite.org/fileformat2.html, 1.3
local MARK = 0x6b6f696e                        -- "koin"
local LOCK_MAX = 10000                         -- ms that another process may hold the file

local SCHEMA = {
  "CREATE TABLE IF NOT EXISTS exchanges (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, conversation TEXT NOT NULL,"
    .. " time INTEGER NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL, answer TEXT NOT NULL, cost REAL,"
    .. " record TEXT NOT NULL)",
  "CREATE INDEX IF NOT EXISTS exchanges_by_conversation ON exchanges (conversation, n)",
  "PRAGMA user_version = 1",
  ("PRAGMA application_id = %d"):format(MARK),
}

local function cannot(path, why) failure.fail(failure.FAILED, "%s: %s", path, (tostring(why):gsub("^LuaSQL: ", ""))) end

-- Fails for a file that is no log of ours; true for an empty one.
local function is_empty(path)
  local file <close>, why = io.open(path, "rb")
  if not file then cannot(path, why) end
  local head = file:read(MARK_AT + 4)
  if not head then return true end
  if head:sub(1, #MAGIC) ~= MAGIC or #head < MARK_AT + 4 or (">I4"):unpack(head, MARK_AT + 1) ~= MARK then
    cannot(path, "this is no log of koine's: name another file")
  end
  return false
end

local function driver(path)
  local found, module = pcall(require, "luasql.sqlite3")
  if found then return module end
  failure.fail(failure.FAILED, "%s: needs lua-sql-sqlite3 (Debian: lua-sql-sqlite3; LuaRocks: luasql-sqlite3); a file "
    .. "whose name does not end in .db or .sqlite needs nothing", path)
end

local function run(self, statement)
  local result, why = self.connection:execute(statement)
  return result or cannot(self.path, why)
end

--- The log at `path`, which is there. With `writes` exchanges can be added, and the tables are made in an empty file.
function database.open(path, writes)
  local empty = is_empty(path)
  local self = setmetatable({ path = path, has_rows = writes or not empty }, metatable)
  self.environment = driver(path).sqlite3()
  local why
  self.connection, why = self.environment:connect(path, LOCK_MAX)
  if not self.connection then cannot(path, why) end
  if empty and writes then
    run(self, "BEGIN IMMEDIATE")
    for _, statement in ipairs(SCHEMA) do run(self, statement) end
    run(self, "COMMIT")
  end
  return self
end

-- A text as SQL, in UTF-8; NUL would end it.
local function quoted(self, text)
  return "'" .. self.connection:escape((json.legal(text):gsub("%z", "\u{FFFD}"))) .. "'"
end

--- Adds a record (table): true, or nil and why not.
function methods:add(record)
  local result, why = self.connection:execute(("INSERT INTO exchanges (id, conversation, time, model, prompt, answer,"
    .. " cost, record) VALUES (%s, %s, %d, %s, %s, %s, %s, %s)"):format(quoted(self, record.id),
    quoted(self, record.conversation), record.time, quoted(self, record.model), quoted(self, record.prompt),
    quoted(self, record.answer), record.cost and ("%.17g"):format(record.cost) or "NULL",
    quoted(self, json.encode(record))))
  if result then return true end
  return nil, (tostring(why):gsub("^LuaSQL: ", ""))
end

local function condition_of(self, wanted)
  local parts = { "1" }
  for _, name in ipairs { "id", "conversation" } do
    local begin = wanted[name]
    if begin then parts[#parts + 1] = ("substr(%s, 1, %d) = %s"):format(name, #begin, quoted(self, begin)) end
  end
  if wanted.model then
    parts[#parts + 1] = ("instr(lower(model), %s)"):format(quoted(self, wanted.model:lower()))
  end
  if wanted.search then
    parts[#parts + 1] = ("instr(lower(prompt || char(10) || answer), %s)"):format(quoted(self, wanted.search:lower()))
  end
  return table.concat(parts, " AND ")
end

-- Ends the query that is under way, if one is: with it open, a connection cannot be closed.
local function end_query(self)
  if self.cursor then self.cursor:close() end
  self.cursor = nil
end

--- The last `wanted.last` (nil: all) exchanges that fit: an array, the oldest first; as lines.lua has it. Fails where
-- one of them is damaged.
function methods:find(wanted)
  if not self.has_rows then return {} end
  self.cursor = run(self, ("SELECT n, record FROM exchanges WHERE %s ORDER BY n DESC LIMIT %d"):format(
    condition_of(self, wanted), wanted.last or -1))
  local found = {}
  while true do
    local n, text = self.cursor:fetch()
    if not n then
      if text then cannot(self.path, text) end
      break
    end
    local entry = json.decode(text)
    if not is_entry(entry) then cannot(self.path, ("a record is damaged (n = %s)"):format(n)) end
    found[#found + 1] = entry
  end
  end_query(self)
  for i = 1, #found // 2 do found[i], found[#found - i + 1] = found[#found - i + 1], found[i] end
  return found
end

--- Closes it. Any number of times.
function methods:close()
  end_query(self)
  if self.connection then self.connection:close() end
  if self.environment then self.environment:close() end
  self.connection, self.environment = nil, nil
end
metatable.__close = methods.close

return database
