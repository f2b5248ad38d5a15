--- The connection of the engine on SQL: one statement or transaction at a time, tried again where the database is busy
-- and, before it is committed, where the connection was lost.

local check = require "koine.data.check"
local errors = require "koine.data.errors"
local failure = require "koine.store.sql.failure"
local mutex = require "koine.task.mutex"
local wait = require "koine.task.wait"

local connection = {}

local PATIENCE = 5                -- seconds for which a database that is busy is asked again
local PAUSE, PAUSE_MAX = 0.05, 1  -- seconds before that; doubled up to the second

local HINT = "koine.store.sql on PostgreSQL blocks the thread in every operation, and with it all other tasks; "
  .. "give it a `query` that waits without blocking, or set blocking = true"

local methods = {}
local Connection = { __index = methods, __name = "koine.store.sql.connection" }

--- A connection that is opened on first use. `of` has dialect (dialects.lua), name (of it), query = function(sql) or
-- connect = function or string, blocking, on_warning.
function connection.new(of)
  local source = type(of.connect) == "string" and of.connect
  return setmetatable({ dialect = of.dialect, name = of.name, given = of.query, connect = of.connect,
    secrets = source and failure.secrets(source) or {}, hint = not of.query and of.name == "postgres"
    and not of.blocking, on_warning = of.on_warning, mutex = mutex(), raw = false, ask = false, dirty = false,
    open = true }, Connection)
end

local function fail(self, said) return failure.of(self.name, said, self.secrets) end

-- The rows of a statement on a connection of luasql's.
local function luasql_rows(raw, sql)
  local ok, cursor, err = pcall(raw.execute, raw, sql)
  if not ok then -- it was closed
    if check.is_memory(cursor) then error(cursor, 0) end
    return nil, "closed connection: " .. errors.words(cursor)
  end
  if cursor == nil then return nil, err or "closed connection" end
  if type(cursor) ~= "userdata" then return {} end
  local rows, row = {}
  row, err = cursor:fetch({}, "a")
  while row do
    rows[#rows + 1] = row
    row, err = cursor:fetch({}, "a")
  end
  cursor:close()
  if err then return nil, err end
  return rows
end

-- Opens a connection with the driver of the dialect: it, or nil and words.
local function connect_with_driver(self, source)
  local ok, driver = pcall(require, self.dialect.driver)
  if not ok then
    if check.is_memory(driver) then error(driver, 0) end
    return nil, errors.new { kind = "other", code = "no_driver", message = ("store: the package %s is missing "
      .. "(LuaRocks: %s)"):format(self.dialect.package, self.dialect.rock) }
  end
  self.environment = self.environment or driver[self.dialect.driver:match "%w+$"]()
  return self.environment:connect(source)
end

-- Sees to it that there is a connection without a transaction: true; nil, err.
local function ready(self)
  if self.ask and not self.dirty then return true end
  if self.given then
    self.ask = self.given
    if self.dirty then self.ask "ROLLBACK" end -- of one that was cancelled
    self.dirty = false
    return true
  end
  if self.ask then -- one that was cancelled
    self.ask "ROLLBACK"
    self.dirty = false
    return true
  end
  local raw, err
  if type(self.connect) == "string" then
    raw, err = connect_with_driver(self, self.connect)
  else
    raw, err = self.connect()
  end
  if not raw then return nil, fail(self, err or "no connection was given") end
  check.method("execute", "connection of luasql")(raw, "connect")
  self.raw, self.dirty = raw, false
  self.ask = function(sql) return luasql_rows(raw, sql) end
  for _, statement in ipairs(self.dialect.prepare) do
    local done
    done, err = self.ask(statement)
    if not done then return nil, fail(self, err) end
  end
  return true
end

-- Gives up the connection, where another one can be made.
local function drop(self)
  if not self.raw then return end
  pcall(self.raw.close, self.raw)
  self.raw, self.ask = false, false
end

local Failed = {} -- the metatable of what a failing statement raises

-- Asks in the middle of a transaction: the rows.
local function asker(self)
  return function(sql)
    local rows, err = self.ask(sql)
    if not rows then error(setmetatable({ err = fail(self, err) }, Failed), 0) end
    return rows
  end
end

-- Runs it once: true and its results packed; false, err, and whether it may be tried again on another connection.
local function try(self, operate, alone)
  local made, err = ready(self)
  if not made then return false, err, false end
  local committing, ask = false, asker(self)
  self.dirty = not alone
  local ok, results = pcall(function()
    if alone then return table.pack(operate(ask)) end
    ask(self.dialect.begin)
    local list = table.pack(operate(ask))
    committing = list[1]
    ask(committing and "COMMIT" or "ROLLBACK")
    return table.pack(table.unpack(list, 2, list.n))
  end)
  if ok then
    self.dirty = false
    return true, results
  end
  local back, said = self.ask "ROLLBACK"
  self.dirty = false
  if getmetatable(results) ~= Failed then error(results, 0) end
  err = results.err
  local gone = err.kind == "connect"
  if not back and self.name ~= "sqlite" then -- in SQLite there may be none to take back
    gone = gone or fail(self, said).kind == "connect" or err.kind == "other"
  end
  if not gone then return false, err, false end
  drop(self)
  return false, failure.lost(self.name, err, committing), not committing
end

-- Runs it until it succeeds, fails for good, or the time is over: its results, or nil, err.
local function run(self, operate, alone)
  if self.hint and wait.suspends() then
    self.hint = false
    self.on_warning(HINT)
  end
  local held <close>, cancelled = self.mutex:hold() -- luacheck: ignore held
  if cancelled then return nil, cancelled end
  local deadline, pause, again = wait.now() + PATIENCE, PAUSE, not self.given
  while self.open do
    local done, results, afresh = try(self, operate, alone)
    if done then return table.unpack(results, 1, results.n) end
    if afresh and again then
      again = false
    elseif results.kind == "overloaded" and wait.now() + pause <= deadline then
      local _, err = wait.sleep(pause)
      if err then return nil, err end
      pause = math.min(pause * 2, PAUSE_MAX)
    else
      return nil, results
    end
  end
  return nil, fail(self, "closed connection")
end

--- Runs operate(ask) as a transaction; ask(sql) returns the rows, an array of tables by column. It returns whether to
-- keep what it changed, and the results of this call; it may be called several times. nil, err where it failed: then
-- nothing changed, but for an error with the code "commit".
function methods:transact(operate) return run(self, operate, false) end

--- Raised in an operation: something came in between, and it is to be tried again after a pause.
function connection.again()
  local err = errors.new { kind = "overloaded", message = "store: others change the same" }
  error(setmetatable({ err = err }, Failed), 0)
end

--- The rows of one statement that changes nothing; nil, err.
function methods:read(sql)
  return run(self, function(ask) return ask(sql) end, true)
end

--- Closes a connection that was opened here.
function methods:close()
  self.open = false
  drop(self)
  if self.environment then pcall(self.environment.close, self.environment) end
  self.environment = nil
end

return connection
