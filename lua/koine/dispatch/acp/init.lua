--- A target of a dispatcher: an agent of another program for each thread, over ACP.
--
--   local d = koine.dispatcher { target = koine.dispatcher.acp { command = "claude-agent-acp", cwd = "/home/ann/repo",
--     permission = ask, file = "sessions.json" }, … }
--
-- Each thread has a process and a session. At most max_sessions live at once: the one that was idle for longest makes
-- room, and its id is kept, so that its thread goes on where it was. Ids are kept in a file or a store; with a
-- dispatcher on a store (ctx.keep) in the thread's history, with the fence of the turn: a process that lives here from
-- before another machine's turn does not know that turn, so it is ended and the session taken up again.

local acp = require "koine.protocol.acp"
local check = require "koine.data.check"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local ids = require "koine.dispatch.acp.ids"
local mutex = require "koine.task.mutex"
local wait = require "koine.task.wait"

local target = {}

local SESSIONS, TTL = 10, 86400 -- seconds

local methods = {}
local metatable = { __index = methods, __name = "koine.dispatcher.acp", __close = function(self) self:close() end }

local OWN = check.options { cwd = check.required(check.either("path of a directory, or function", check.path,
  check.func)), max_sessions = check.default(check.integer(1), SESSIONS), ttl = check.default(check.time_limit, TTL),
  file = check.path, store = check.method("put", "store"), on_update = check.func, permission = check.any,
  preset = check.one_of(check.names(acp.presets)) }

local OWN_NAMES = { cwd = true, max_sessions = true, ttl = true, file = true, store = true, on_update = true,
  permission = true, preset = true }

-- Sessions ----------------------------------------------------------------------------------------------------------

-- Ends the processes that reset left behind, but those whose turn has not returned (`all`: these too).
local function bury(self, all)
  local dead = self.dead
  self.dead = {}
  for _, entry in ipairs(dead) do
    if all or entry.busy == 0 then entry.connection:close() else self.dead[#self.dead + 1] = entry end
  end
end

-- Takes a thread's process away, also one that only begins; its id stays.
local function retire(self, entry)
  entry.dropped = true
  if self.entries[entry.key] == entry then self.entries[entry.key], self.count = nil, self.count - 1 end
  if entry.connection then entry.connection:close() end
end

-- Ends what was idle for too long.
local function sweep(self)
  local now, old = wait.now(), {}
  for _, entry in next, self.entries do
    if entry.busy == 0 and now - entry.used > self.own.ttl then old[#old + 1] = entry end
  end
  for _, entry in ipairs(old) do retire(self, entry) end
end

-- Makes room for one more: true, or nil, err.
local function make_room(self)
  if self.count < self.own.max_sessions then return true end
  local oldest
  for _, entry in next, self.entries do
    if entry.busy == 0 and (not oldest or entry.used < oldest.used) then oldest = entry end
  end
  if not oldest then
    return nil, errors.new { kind = "limit", code = "sessions", retryable = false,
      message = ("all of %d sessions are at work"):format(self.own.max_sessions) }
  end
  retire(self, oldest)
  return true
end

-- The options of connect for a thread.
local function options_for(self, entry, cwd)
  local made = { cwd = cwd }
  for name, value in next, self.given do made[name] = value end
  local permission, on_update = self.own.permission, self.own.on_update
  made.permission = type(permission) ~= "function" and permission or function(request)
    request.key = entry.key
    return permission(request)
  end
  made.on_update = on_update and function(update) on_update(entry.key, update) end
  return made
end

-- nil, err where the entry was taken away meanwhile; else true.
local function still_wanted(entry)
  if not entry.dropped then return true end
  return nil, errors.new { kind = "cancelled", message = "the session was ended while it began" }
end

-- The id of a thread's session, nil for none; or nil, err.
local function known_id(self, key, ctx)
  if not ctx.keep then return self.ids:get(key) end
  if not ctx.history then return nil end
  local id = ctx.history:match "^acp %d+ (.+)$"
  if id then return id end
  return nil, errors.new { kind = "other", message = "the history of " .. key .. " is another target's" }
end

-- Keeps the id of the entry's session: true, or nil, err.
local function keep_id(self, entry, ctx)
  if not ctx.keep then return self.ids:put(entry.key, entry.session.id) end
  entry.kept = ("acp %d %s"):format(ctx.lease.fence, entry.session.id)
  ctx.keep(entry.kept)
  return true
end

-- Starts the thread's agent: true, or nil, err.
local function open(self, entry, ctx)
  local cwd, err = self.own.cwd, nil
  if type(cwd) == "function" then cwd, err = cwd(entry.key, ctx) end
  if not cwd then return nil, err or errors.new { kind = "other", message = "no directory for " .. entry.key } end
  local id, problem = known_id(self, entry.key, ctx)
  if problem then return nil, problem end
  entry.connection, err = acp.connect(options_for(self, entry, cwd))
  if not entry.connection then return nil, err end
  if id then entry.session, err = entry.connection:take_up(id) else entry.session, err = entry.connection:new() end
  if not entry.session then return nil, err end
  entry.lost = entry.session.reset
  local wanted, ended = still_wanted(entry)
  if not wanted then return nil, ended end
  local kept, unkept = keep_id(self, entry, ctx)
  if not kept then return nil, unkept end
  return still_wanted(entry)
end

local function leave(entry) entry.busy, entry.used = entry.busy - 1, wait.now() end

-- The entry of a thread, in use until `leave`; or nil, err.
local function enter(self, key)
  local entry = self.entries[key]
  if not entry then
    local ok, err = make_room(self)
    if not ok then return nil, err end
    entry = { key = key, used = wait.now(), busy = 0, gate = mutex(), connection = false, session = false,
      lost = false, dropped = false }
    self.entries[key], self.count = entry, self.count + 1
  end
  entry.busy = entry.busy + 1
  return entry
end

-- Parts the thread from its session. Does not wait.
local function drop(self, entry)
  if entry.session then entry.session:cancel() end
  self.entries[entry.key], self.count, entry.dropped = nil, self.count - 1, true
  if entry.connection then self.dead[#self.dead + 1] = entry end
end

--- Makes the session of a thread, or takes it up: true, or nil, err: kind limit (code "sessions") where all are at
-- work; cancelled where reset or close came meanwhile; of the agent.
function methods:ensure_session(key, ctx)
  if self.closed then return nil, errors.new { kind = "cancelled", message = "the target was closed" } end
  ctx = ctx or {}
  local here = self.entries[key]
  if here and here.session and ctx.keep and here.kept ~= ctx.history then drop(self, here) end
  bury(self)
  sweep(self)
  local entry, full = enter(self, key)
  if not entry then return nil, full end
  local leaving <close> = defer(function() leave(entry) end) -- luacheck: ignore leaving
  local held <close>, busy = entry.gate:hold() -- luacheck: ignore held
  if busy then return nil, busy end
  if entry.session and not entry.dropped then return true end
  local ok, err = open(self, entry, ctx)
  if not ok then
    retire(self, entry)
    return nil, err
  end
  return true
end

-- Turns -------------------------------------------------------------------------------------------------------------

-- Plays a turn: its result, or nil, err.
local function play(entry, blocks, ctx)
  local turn <close>, err = entry.session:start(blocks, ctx.observe and { parent = ctx.observe })
  if not turn then return nil, err end
  if ctx.cancelled and ctx.cancelled() then turn:cancel() end
  return turn:result()
end

-- Adds a warning to the result of a turn (nil: none) after which the id of the session could not be kept.
local function warn_of_id(result, ok, err)
  if ok or not result then return end
  result.warnings[#result.warnings + 1] = { code = "session_id", field = "session",
    message = "the id of the session was not kept: " .. errors.words(err) }
end

--- Plays a turn with the blocks, unchanged: the turn's result (docs/acp.md), with session_reset = true where the agent
-- had lost the thread's session, and a warning (code "session_id") where the id of the new one could not be kept; or
-- nil, err. A failed prompt is not repeated.
function methods:run_turn(key, blocks, ctx)
  ctx = ctx or {}
  if not (self.entries[key] and self.entries[key].session) then
    local ok, err = self:ensure_session(key, ctx)
    if not ok then return nil, err end
  end
  local entry = enter(self, key)
  local leaving <close> = defer(function() -- luacheck: ignore leaving
    leave(entry)
    if entry.dropped then bury(self) end
  end)
  local before = entry.session.id
  if ctx.keep then keep_id(self, entry, ctx) end
  local result, err = play(entry, blocks, ctx)
  local done = result or err.partial
  if entry.session.id ~= before and not entry.dropped then warn_of_id(done, keep_id(self, entry, ctx)) end
  if done and (done.reset or entry.lost) then done.session_reset, entry.lost = true, false end
  return result, err
end

--- Asks the agent to stop the turn of a thread. Does not wait.
function methods:cancel(key)
  local entry = self.entries[key]
  if entry and entry.session then entry.session:cancel() end
end

--- Forgets the session of a thread: its turn is cancelled, its process ended, its id forgotten. Does not wait.
function methods:reset(key)
  self.ids:forget(key)
  local entry = self.entries[key]
  if entry then drop(self, entry) end
end

--- Ends all processes; the ids stay. Returns nothing; any number of times.
function methods:close()
  self.closed = true
  bury(self, true)
  local _, entry = next(self.entries)
  while entry do
    retire(self, entry)
    _, entry = next(self.entries)
  end
  self.ids:close()
end

--- koine.dispatcher.acp(opts): a target for a dispatcher. Options are those of koine.acp.connect, and:
--   cwd           the directory of the sessions, or function(key, ctx) → directory, or nil, err (required)
--   permission    as connect has it; a function's request also has the `key` of the thread
--   on_update     function(key, update): what the agent says between turns
--   preset        name of a well-known agent (koine.acp.presets) for command and args
--   max_sessions  processes at once, 10;   ttl  seconds after which an idle one is ended, 86400
--   file, store   where ids of sessions are kept: path of a file, or a koine.store; neither: in memory. A
--                 dispatcher on a store keeps them itself
-- Raises an ArgumentError; of file also where it cannot be read.
function target.new(opts)
  if type(opts) ~= "table" then errors.argument("options", "table", opts) end
  local own, given = {}, {}
  for name, value in next, opts do
    if OWN_NAMES[name] then own[name] = value else given[name] = value end
  end
  own = OWN(own)
  for name, value in next, own.preset and acp.presets[own.preset] or {} do
    if given[name] == nil then given[name] = value end
  end
  local self = setmetatable({ own = own, given = given, entries = {}, count = 0, dead = {}, closed = false,
    ids = ids.new(own.file, own.store) }, metatable)
  acp.check(options_for(self, { key = "" }, type(own.cwd) == "string" and own.cwd or "/"))
  return self
end

return target
