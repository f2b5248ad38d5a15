--- The connection of the engine on SQL: one statement or transaction at a time, tried again where the database is busy
-- and, before it is committed, where the connection was lost.
-- A task that is cancelled while a statement waits leaves a reply behind, which must not answer the next one. So a
-- connection that `connect` made is closed then, and another one is made. A `query` cannot be closed: in koine.run each
-- of its statements is a task of its own, for whose end the next operation waits. Where it ends without a reply, all
-- later operations fail.

local check = require "koine.data.check"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local failure = require "koine.store.sql.failure"
local interface = require "koine.store.interface"
local mutex = require "koine.task.mutex"
local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local connection = {}

local PATIENCE = 5                -- seconds for which a database that is busy is asked again
local PAUSE, PAUSE_MAX = 0.05, 1  -- seconds before that; doubled up to the second

local HINT = "koine.store.sql on PostgreSQL blocks the thread in every operation, and with it all other tasks; "
  .. "give it a `connect` or `query` that waits without blocking, or set blocking = true"

local methods = {}
local Connection = { __index = methods, __name = "koine.store.sql.connection" }

--- A connection that is opened on first use. `of` has dialect (dialects.lua), name (of it), query = function(sql) or
-- connect = function or string, blocking, on_warning.
function connection.new(of)
  local source = type(of.connect) == "string" and of.connect
  return setmetatable({ dialect = of.dialect, name = of.name, given = of.query, connect = of.connect,
    secrets = source and failure.secrets(source) or {}, hint = not of.query and of.name == "postgres"
    and not of.blocking, on_warning = of.on_warning, mutex = mutex(), link = false, cut = false, open = true },
    Connection)
end

local function fail(self, said) return failure.of(self.name, said, self.secrets) end

-- The rows of a statement on a connection of luasql's.
local function luasql_rows(raw, sql)
  local cursor, err
  local over <close> = defer(function() -- luacheck: ignore over
    if type(cursor) == "userdata" then cursor:close() end
  end)
  local ok
  ok, cursor, err = pcall(raw.execute, raw, sql)
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
  if err then return nil, err end
  return rows
end

-- Statements ---------------------------------------------------------------------------------------------------------
-- A link is {query = function(sql) → rows; nil, why, close (nil: it cannot be closed), blocks = it blocks the thread,
-- asking = a reply is still to come, dirty = a transaction is open, call = the statement that runs in a task of its
-- own}.

-- Notes that a statement has its reply: what `query` returned. A host that cancels makes it return without one.
local function answered(link, rows, err)
  link.asking = not rows and errors.is_error(err) and err.kind == "cancelled"
  return rows, err
end

-- Waits until the statement that another task began has its reply.
local function await(call)
  while not call.done do
    local _, err = wait.park(call)
    if err then return nil, err end
  end
  return true
end

-- Sends a statement in a task of its own, which goes on where the caller is cancelled.
local function send_apart(link, sql)
  local call = { done = false, results = false }
  scheduler.spawn(function()
    local over <close> = defer(function() -- luacheck: ignore over
      call.done = true
      wait.wake(call)
    end)
    local results = table.pack(pcall(link.query, sql))
    if results[1] then answered(link, results[2], results[3]) end
    call.results = results
  end)
  link.asking, link.call = true, call
  local _, err = await(call)
  if err then return nil, err end
  local results = call.results or { true, nil, "closed connection" }
  if not results[1] then error(results[2], 0) end
  return results[2], results[3]
end

-- The rows of a statement; nil, why. Of a statement that has none, drivers return a count, or true. Raises an
-- ArgumentError where one that has them returned something else.
local function rows_of(sql, found, err)
  if not found then return nil, err end
  if type(found) == "table" then return found end
  if sql:find "^SELECT" or sql:find "^PRAGMA [%w_]+$" then
    check.refuse("query", "array of rows (tables by column)", found)
  end
  return {}
end

-- Sends a statement: its rows; nil, why.
local function send(link, sql)
  if not link.close and wait.task() and wait.suspends() then return rows_of(sql, send_apart(link, sql)) end
  link.asking = true
  return rows_of(sql, answered(link, link.query(sql)))
end

-- Connecting ---------------------------------------------------------------------------------------------------------

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

local MADE = check.either("connection of LuaSQL, or object with query and close",
  check.method("execute", "connection of LuaSQL"), check.method("query", "object with query and close"))

-- The link that `connect` returned: a connection of luasql's, or an object with query(self, sql) and close(self).
local function link_to(raw)
  MADE(raw, "connect")
  check.method("close", "connection with a method close")(raw, "connect")
  local link = { asking = false, dirty = false, close = function() raw:close() end }
  if pcall(check.method("execute", ""), raw, "connect") then
    link.query, link.blocks = function(sql) return luasql_rows(raw, sql) end, true
  else
    link.query = function(sql) return raw:query(sql) end
  end
  return link
end

-- Opens a connection: a link; nil, err.
local function open(self)
  local raw, err
  if type(self.connect) == "string" then
    raw, err = connect_with_driver(self, self.connect)
  else
    raw, err = self.connect()
  end
  if not raw then return nil, fail(self, err or "no connection was given") end
  local link = link_to(raw)
  self.hint = self.hint and link.blocks
  local failing <close> = defer(function() pcall(link.close) end)
  for _, statement in ipairs(self.dialect.prepare) do
    local done
    done, err = send(link, statement)
    if not done then return nil, fail(self, err) end
  end
  if not self.open then return nil, interface.closed_error() end
  failing:cancel()
  return link
end

-- Sees to it that a `query` has its last reply, and no transaction: true; nil, err.
local function settle(self, link)
  if self.cut then return nil, failure.cut(self.name) end
  local call = link.call
  if call and not call.done then
    if not wait.suspends() then return nil, failure.cut(self.name) end
    local _, err = await(call)
    if err then return nil, err end
  end
  if link.asking then
    self.cut = true
    return nil, failure.cut(self.name)
  end
  if link.dirty then
    send(link, "ROLLBACK") -- of one that was cancelled
    link.dirty = false
  end
  return true
end

-- Gives the connection without a transaction: a link; nil, err.
local function ready(self)
  if self.given then
    self.link = self.link or { query = self.given, asking = false, dirty = false }
    local ok, err = settle(self, self.link)
    if not ok then return nil, err end
  elseif not self.link then
    local made, err = open(self)
    if not made then return nil, err end
    self.link = made
  end
  return self.link
end

-- Gives up the connection, where another one can be made.
local function drop(self, link)
  if not link or not link.close then return end
  if self.link == link then self.link = false end
  pcall(link.close)
end

local Failed = {} -- the metatable of what a failing statement raises

-- Asks in the middle of a transaction: the rows.
local function asker(self, link)
  return function(sql)
    local rows, err = send(link, sql)
    if not rows then error(setmetatable({ err = fail(self, err) }, Failed), 0) end
    return rows
  end
end

-- Takes back what failed: whether that is known to be done, and why not. Without a reply to the statement that failed,
-- no other one is sent.
local function roll_back(link)
  if link.asking then return false end
  local back, said = send(link, "ROLLBACK")
  link.dirty = link.asking
  return back, said
end

-- Runs it once: true and its results packed; false, err, and whether it may be tried again on another connection.
local function try(self, operate, alone)
  local link, err = ready(self)
  if not link then return false, err, false end
  local unfit <close> = defer(function() -- luacheck: ignore unfit
    if link.asking or link.dirty then drop(self, link) end
  end)
  local committing, ask = false, asker(self, link)
  link.dirty = not alone
  local ok, results = pcall(function()
    if alone then return table.pack(operate(ask)) end
    ask(self.dialect.begin)
    local list = table.pack(operate(ask))
    committing = list[1]
    ask(committing and "COMMIT" or "ROLLBACK")
    return table.pack(table.unpack(list, 2, list.n))
  end)
  if ok then
    link.dirty = false
    return true, results
  end
  if not self.open then return false, interface.closed_error(), false end -- a driver may raise for its connection
  local back, said = roll_back(link)
  if getmetatable(results) ~= Failed then error(results, 0) end
  err = results.err
  if link.asking then return false, err, false end
  local gone = err.kind == "connect"
  if not back and self.name ~= "sqlite" then -- in SQLite there may be none to take back
    gone = gone or fail(self, said).kind == "connect" or err.kind == "other"
  end
  if not gone then return false, err, false end
  drop(self, link)
  return false, failure.lost(self.name, err, committing), not committing
end

-- Runs it until it succeeds, fails for good, or the time is over: its results, or nil, err.
local function run(self, operate, alone)
  local held <close>, cancelled = self.mutex:hold() -- luacheck: ignore held
  if cancelled then return nil, cancelled end
  local deadline, pause, again = wait.now() + PATIENCE, PAUSE, not self.given
  while self.open do
    local done, results, afresh = try(self, operate, alone)
    if done then return table.unpack(results, 1, results.n) end
    if not self.open then break end
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
  return nil, interface.closed_error()
end

-- Passes results on. Tells once, while nobody holds the connection, that it blocks a task, or would if there were one.
local function warned(self, ...)
  if self.hint and wait.suspends() then
    self.hint = false
    self.on_warning(HINT)
  end
  return ...
end

--- Runs operate(ask) as a transaction; ask(sql) returns the rows, an array of tables by column. It returns whether to
-- keep what it changed, and the results of this call; it may be called several times. nil, err where it failed: then
-- nothing changed, but for an error with the code "commit".
function methods:transact(operate) return warned(self, run(self, operate, false)) end

--- Ends an operation with an error: raised in it.
function connection.fail(err) error(setmetatable({ err = err }, Failed), 0) end

--- The same: something came in between, and it is to be tried again after a pause.
function connection.again()
  connection.fail(errors.new { kind = "overloaded", message = "store: other programs keep changing the same data" })
end

--- What read_rows(rows) returns of the rows of one statement that changes nothing; nil, err.
function methods:read(sql, read_rows)
  return warned(self, run(self, function(ask) return read_rows(ask(sql)) end, true))
end

--- Closes a connection that was opened here.
function methods:close()
  self.open = false
  drop(self, self.link)
  if self.environment then pcall(self.environment.close, self.environment) end
  self.environment = nil
end

return connection
