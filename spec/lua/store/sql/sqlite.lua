--- A real SQLite database for specs, in a folder of its own. sqlite.missing says in words why there is none; specs are
-- pending then.

local folder = require "spec.support.folder"
local koine = require "koine"

local found, driver = pcall(require, "luasql.sqlite3")

local sqlite = { missing = not found and "lua-sql-sqlite3 is not installed (tools/deps.sh test)" or nil }

local environment = found and driver.sqlite3()

--- A connection of luasql's.
function sqlite.connect(path) return assert(environment:connect(path)) end

--- Runs statements, each with a semicolon at its end.
function sqlite.run(conn, text)
  for statement in text:gmatch "[^;]+;" do
    local cursor = assert(conn:execute(statement))
    if type(cursor) == "userdata" then cursor:close() end
  end
end

--- The rows of a statement, as a `query` of a store returns them.
function sqlite.query_of(conn)
  return function(sql)
    local cursor, err = conn:execute(sql)
    if not cursor then return nil, err end
    local rows = {}
    if type(cursor) == "userdata" then
      local row = cursor:fetch({}, "a")
      while row do
        rows[#rows + 1], row = row, cursor:fetch({}, "a")
      end
    end
    return rows
  end
end

--- Makes a folder and in it a database with the tables: the folder, the path of the database.
function sqlite.make()
  local dir = folder.in_memory()
  local path = dir .. "/store.sqlite"
  local conn = sqlite.connect(path)
  sqlite.run(conn, koine.store.schema "sqlite")
  conn:close()
  return dir, path
end

return sqlite
