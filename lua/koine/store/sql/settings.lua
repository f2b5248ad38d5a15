--- What a database says of itself: what survives in it, what its settings do not keep, and whether a store can work in
-- it at all. Asked by describe() of the engine on SQL.

local settings = {}

-- The names of the tables that are missing, as a text; NULL: none. %s: how they are joined, which ones are there.
local MISSING = "SELECT %s AS v FROM (VALUES ('koine_numbers'), ('koine_values'), ('koine_leases'), ('koine_queue'), "
  .. "('koine_ready'), ('koine_buckets')) t WHERE %s"

-- By dialect: what is asked → {statement, its column, whether that may be NULL}.
local QUESTIONS = {
  sqlite = {
    version = { "SELECT sqlite_version() AS v", "v" },
    file = { "PRAGMA database_list", "file", true },
    journal = { "PRAGMA journal_mode", "journal_mode" },
    sync = { "PRAGMA synchronous", "synchronous" },
    missing = { MISSING:format("group_concat(column1, ', ')", "column1 NOT IN (SELECT name FROM sqlite_master)"), "v",
      true },
  },
  postgres = {
    version = { "SELECT current_setting('server_version') AS v", "v" },
    fsync = { "SELECT current_setting('fsync') AS v", "v" },
    sync = { "SELECT current_setting('synchronous_commit') AS v", "v" },
    standby = { "SELECT current_setting('synchronous_standby_names') AS v", "v" },
    read_only = { "SELECT current_setting('transaction_read_only') AS v", "v" },
    missing = { MISSING:format("string_agg(column1, ', ')", "to_regclass(column1) IS NULL"), "v", true },
  },
}

local promises = {}

-- What survives (see docs/stores.md), by the settings of each database; adds to `warnings` what does not.
function promises.sqlite(said, warnings)
  if said.file == "" then return "memory" end
  if said.journal ~= "wal" then
    warnings[#warnings + 1] = ("journal_mode is %s: readers and writers wait for each other; wal is better"):format(
      said.journal)
  end
  if (math.tointeger(tonumber(said.sync)) or 0) >= 2 then return "machine" end
  warnings[#warnings + 1] = "synchronous is below FULL: a crash of the machine may lose the last writes"
  return "process"
end

function promises.postgres(said, warnings)
  if said.fsync ~= "on" then
    warnings[#warnings + 1] = "fsync is off: a crash of the server's machine may lose everything"
    return "process"
  end
  if said.sync == "off" then
    warnings[#warnings + 1] = "synchronous_commit is off: a crash of the server may lose the last writes, and with "
      .. "them fences"
    return "memory"
  end
  return said.standby ~= "" and said.sync ~= "local" and "replicated" or "machine"
end

-- Asks everything: a table of texts, "" for NULL; nil, err.
local function ask(connection, rows, dialect)
  local said = {}
  for name, question in pairs(QUESTIONS[dialect]) do
    local sql, column, optional = table.unpack(question)
    local text, err = connection:read(sql, function(found)
      local row = found[1]
      if optional and type(row) == "table" and row[column] == nil then return "" end
      return rows.text_in(row, column)
    end)
    if not text then return nil, err end
    said[name] = text
  end
  return said
end

-- Whether SQLite takes changes, which only a transaction that may write can tell; nil, err.
local function is_read_only(connection)
  local done, err = connection:transact(function() return false, true end)
  if done or err.kind == "overloaded" then return false end
  if err.kind == "permission" then return true end
  return nil, err
end

--- Reads version, what survives, and warnings, an array of strings; nil, err.
function settings.read(connection, rows, dialect)
  local said, err = ask(connection, rows, dialect)
  if not said then return nil, err end
  local read_only = said.read_only == "on"
  if dialect == "sqlite" then
    read_only, err = is_read_only(connection)
    if read_only == nil then return nil, err end
  end
  local warnings = {}
  if said.missing ~= "" then
    warnings[1] = ("the tables %s are missing; run the text of koine.store.schema %q once"):format(said.missing,
      dialect)
  end
  if read_only then warnings[#warnings + 1] = "the database is read-only, a replica say: it refuses all changes" end
  return said.version, promises[dialect](said, warnings), warnings
end

return settings
