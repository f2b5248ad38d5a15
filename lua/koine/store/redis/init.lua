--- The engine on Redis: a store that machines share. Every operation is one script, which the server runs as a whole,
-- by its own clock. See docs/stores.md for what Redis does and does not promise.

local address_of = require "koine.store.redis.address"
local behind = require "koine.store.prefix"
local check = require "koine.data.check"
local core = require "koine.core"
local failure = require "koine.store.redis.failure"
local interface = require "koine.store.interface"
local pools = require "koine.store.redis.pool"
local resp = require "koine.store.redis.resp"
local scripts = require "koine.store.redis.scripts"
local wait = require "koine.task.wait"
local watches = require "koine.store.redis.watch"

local TIMEOUT, POOL, PREFIX = 5, 4, "koine:"
local PAUSE, PAUSE_MAX = 0.05, 1 -- seconds before a server that is busy is asked again; doubled up to the second
local LOADS = 3                  -- times that a script is loaded in one operation, where others flush them

local HASH = "^" .. ("%x"):rep(40) .. "$" -- of a script, as the server names it

local engine = {}
local Redis = { __index = engine, __name = "koine.store.redis" }

-- Runs the script by its hash, for which it is loaded first where this server has not told that, and with `load` in
-- any case: the reply, and the connection that it came on; nil, err. A script that was forgotten is loaded and run in
-- one go, so that no other client has scripts forgotten in between.
local function run(self, name, arguments, deadline, load)
  local hash = self.hashes[name]
  local commands = hash and { resp.encode { "EVALSHA", hash, 1, self.base, table.unpack(arguments) } } or {}
  if load or not hash then table.insert(commands, 1, resp.encode { "SCRIPT", "LOAD", scripts[name] }) end
  local replies, link = self.pool:exchange(table.concat(commands), #commands, deadline)
  if not replies then return nil, link end
  if not load and hash then return replies[1], link end
  local told = replies[1]
  if resp.is_error(told) then return resp.is_error(replies[2] or told) and told or replies[2], link end
  if type(told) ~= "string" or not told:find(HASH) then return link:refuse "SCRIPT LOAD" end
  self.hashes[name] = told
  if replies[2] ~= nil then return replies[2], link end
  return run(self, name, arguments, deadline, false)
end

-- Runs an operation: its reply, the connection that it came on, and, where it was sent once more, the error of the
-- connection that failed under it; nil, err. `again`: that may be done.
local function call(self, name, arguments, again)
  local deadline, pause, loads, failed = wait.now() + self.timeout, PAUSE, 0, nil
  while true do
    local reply, link = run(self, name, arguments, deadline, loads > 0)
    if reply == nil then
      local err = link
      if not again or err.kind ~= "connect" or not err.retryable or self.pool.closed then return nil, err end
      again, failed = false, err
    elseif not resp.is_error(reply) then
      return reply, link, failed
    elseif reply.code == "NOSCRIPT" and loads < LOADS then
      loads = loads + 1
    else
      local err = failure.of_reply(reply, self.address.where, self.secrets)
      if err.kind ~= "overloaded" or wait.now() + pause > deadline then return nil, err end
      local _, cancelled = wait.sleep(pause)
      if cancelled then return nil, cancelled end
      pause = math.min(pause * 2, PAUSE_MAX)
    end
  end
end

-- A number as text, exactly, whatever the locale.
local number = core.encode

local function condition(version)
  if version == nil then return "" end
  return version == "absent" and version or "=" .. version
end

-- The integer of a text; nil where it is none.
local function whole(text) return type(text) == "string" and math.tointeger(tonumber(text)) or nil end

local function is_array(reply) return type(reply) == "table" and not resp.is_error(reply) end

local function flag(reply)
  if reply == 0 or reply == 1 then return true, reply == 1 end
end

-- The items of a claim; nil where they are none.
local function items_of(reply)
  local items = {}
  for i = 3, #reply, 4 do
    local seq, at, tries, item = table.unpack(reply, i, i + 3)
    local time = type(at) == "string" and tonumber(at)
    if not whole(seq) or not time or math.type(tries) ~= "integer" or type(item) ~= "string" then return nil end
    items[#items + 1] = { seq = whole(seq), item = item, tries = tries, at = time / 1e6 }
  end
  return items
end

-- By operation: function(reply) → true and the results; nothing where a store's script gives no such reply.
local RESULTS = { delete = flag, release = flag, ack = flag, unclaim = flag }

function RESULTS.get(reply)
  if not is_array(reply) then return nil end
  if #reply == 0 then return true, nil, nil end
  if #reply == 2 and type(reply[1]) == "string" and type(reply[2]) == "string" then return true, reply[1], reply[2] end
end

function RESULTS.put(reply)
  if not is_array(reply) or #reply > 2 then return nil end
  local version = reply[2]
  if reply[1] == 1 and type(version) == "string" then return true, version end
  if reply[1] == 0 and type(version) == "string" then return true, false, version end
  if reply[1] == 0 and (version == nil or version == core.null) then return true, false, nil end
end

function RESULTS.list(reply)
  if not is_array(reply) then return nil end
  for _, name in ipairs(reply) do
    if type(name) ~= "string" then return nil end
  end
  return true, reply
end

function RESULTS.lease(reply)
  if not is_array(reply) or type(reply[2]) ~= "string" then return nil end
  if reply[1] == 1 and whole(reply[2]) then return true, whole(reply[2]) end
  if reply[1] == 0 and tonumber(reply[2]) then return true, false, tonumber(reply[2]) / 1e6 end
end

function RESULTS.take(reply)
  local seconds = type(reply) == "string" and tonumber(reply)
  if seconds then return true, seconds == 0 and 0 or seconds end
end

function RESULTS.push(reply)
  if whole(reply) then return true, whole(reply) end
end

function RESULTS.claim(reply)
  if not is_array(reply) then return nil end
  if #reply == 0 then return true, nil end
  local items = items_of(reply)
  if items and items[1] and type(reply[1]) == "string" and whole(reply[2]) then
    return true, reply[1], whole(reply[2]), items
  end
end

-- An operation that was sent twice, and the second time refused, may have been done the first time: the error is then
-- that of the connection.
local function results(name, link, failed, fits, ...)
  if not fits then return link:refuse(name) end
  if failed and (...) == false then return nil, failed end
  return ...
end

-- Runs an operation: its results; nil, err.
local function operate(self, name, arguments, again)
  local reply, link, failed = call(self, name, arguments, again)
  if reply == nil then return nil, link end
  return results(name, link, failed, RESULTS[name](reply))
end

function engine:get(key) return operate(self, "get", { key }, true) end

function engine:put(key, value, options)
  local fence, bound = options.fence, options.if_version ~= nil
  -- A put that is repeated, and finds its own value, has succeeded.
  local name = bound and core.random_hex(16) or ""
  return operate(self, "put", { key, value, condition(options.if_version), options.ttl and number(options.ttl) or "",
    fence and fence[1] or "", fence and number(fence[2]) or "", name }, bound or fence ~= nil)
end

function engine:delete(key, options)
  return operate(self, "delete", { key, condition(options.if_version) }, options.if_version ~= nil)
end

-- The bounds of names that begin with the prefix and come behind `after`, as ZRANGEBYLEX has them.
local function bounds(prefix, after)
  local from = after and not core.before(after, prefix) and "(" .. after or prefix ~= "" and "[" .. prefix or "-"
  local last = behind(prefix)
  return from, last and "(" .. last or "+"
end

function engine:list(prefix, options)
  local from, to = bounds(prefix, options.after)
  local names, err = operate(self, "list", { from, to, number(options.limit) }, true)
  if not names then return nil, err end
  local more = #names > options.limit
  if more then names[#names] = nil end
  return names, more and names[#names] or nil
end

function engine:lease(key, owner, ttl) return operate(self, "lease", { key, owner, number(ttl) }) end

function engine:release(key, owner)
  local done, err = operate(self, "release", { key, owner })
  if done or err then return done, err end
end

function engine:take(key, amount, options)
  return operate(self, "take", { key, number(amount), number(options.capacity), number(options.per),
    options.force and 1 or 0, number(options.block) })
end

function engine:push(queue, item, options)
  return operate(self, "push", { queue, item, options.id or "" }, options.id ~= nil)
end

function engine:claim(owner, ttl, options) return operate(self, "claim", { owner, number(ttl), options.queues }) end

function engine:ack(queue, _, fence, seq) return operate(self, "ack", { queue, number(fence), number(seq) }, true) end

function engine:unclaim(queue, _, fence, options)
  return operate(self, "unclaim", { queue, number(fence), number(options.after) }, true)
end

function engine:watch(prefix, seconds) return self.watchers:wait(prefix, seconds) end

-- What the server says of itself, as far as it may be asked.
local QUESTIONS = { { "INFO", "server" }, { "CONFIG", "GET", "maxmemory-policy" }, { "CONFIG", "GET", "appendonly" },
  { "CONFIG", "GET", "appendfsync" }, { "INFO", "replication" } }

-- The value of a setting that was asked for; nil where there is none.
local function setting(self, reply)
  local value = not resp.is_error(reply) and reply[2]
  return type(value) == "string" and core.redact(value, self.secrets) or nil
end

-- Whether these may be the replies to QUESTIONS: texts and arrays, or errors.
local function are_answers(replies)
  for i, reply in ipairs(replies) do
    local wanted = QUESTIONS[i][1] == "INFO" and "string" or "table"
    if not resp.is_error(reply) and type(reply) ~= wanted then return false end
  end
  return true
end

-- Where a write is, and what is not promised.
local function promises(policy, appendonly, fsync)
  local warnings = {}
  if not policy then
    warnings[1] = "its settings cannot be read: CONFIG GET is not allowed"
  elseif policy ~= "noeviction" then
    warnings[1] = ("maxmemory-policy is %s: it may drop leases, fences and queues; noeviction is needed"):format(policy)
  end
  if appendonly == "yes" and fsync == "always" then return "machine", warnings end
  if appendonly == "yes" then
    warnings[#warnings + 1] = ("appendfsync is %s: a crash of the server's machine loses the last writes"):format(fsync)
    return "process", warnings
  end
  if appendonly then
    warnings[#warnings + 1] = "appendonly is no: a restart of the server loses what was written since its last snapshot"
  end
  return "memory", warnings
end

function engine:describe()
  local commands = {}
  for i, question in ipairs(QUESTIONS) do commands[i] = resp.encode(question) end
  local replies, link = self.pool:exchange(table.concat(commands), #commands, wait.now() + self.timeout)
  if not replies then return nil, link end
  if not are_answers(replies) then return link:refuse "describe" end
  local info = replies[1]
  if resp.is_error(info) and info.code ~= "NOPERM" then
    return nil, failure.of_reply(info, self.address.where, self.secrets)
  end
  local version = not resp.is_error(info) and info:match "redis_version:([^\r\n]*)" or "unknown"
  version = core.redact(version, self.secrets)
  local durable, warnings = promises(setting(self, replies[2]), setting(self, replies[3]), setting(self, replies[4]))
  if type(replies[5]) == "string" and replies[5]:find("role:slave", 1, true) then
    warnings[#warnings + 1] = "it is a replica of another server: it refuses changes, or loses them"
  end
  for _, warning in ipairs(warnings) do
    if self.on_warning and not self.warned[warning] then
      self.warned[warning] = true
      self.on_warning(("redis at %s: %s"):format(self.address.where, warning))
    end
  end
  return { name = "redis", version = version, durable = self.durable or durable, clock = "server", warnings = warnings }
end

function engine:close()
  local err = interface.closed_error()
  self.pool:close(err)
  self.watchers:close(err)
end

local TAG = check.that("string of 1 to 128 bytes without braces and NUL", function(value)
  if type(value) == "string" and #value >= 1 and #value <= 128 and not value:find "[{}\0]" then return value end
end)

local OPTIONS = check.options {
  url = check.required(address_of), prefix = check.default(TAG, PREFIX), db = check.integer(0),
  timeout = check.default(check.time_limit, TIMEOUT), pool = check.default(check.integer(1, 1000), POOL),
  durable = check.one_of { "memory", "process", "machine", "replicated" }, ca_file = check.path,
  user = check.secret(check.text), password = check.secret(check.text), on_warning = check.func,
}

--- Makes a store on Redis. Nothing is connected before the first operation. Options:
--   url        redis://[[user]:password@]host[:port][/db], rediss:// for TLS, unix://[[user]:password@]/path[?db=n]
--   user, password, db   in place of the URL's
--   ca_file    the certificates to trust, a file; else the system's
--   prefix     of all keys, default "koine:": stores with other prefixes are others. It is their hash tag, too
--   timeout    seconds for an operation, default 5
--   pool       the most connections for commands, default 4; watch has one more
--   durable    what describe() says of durability; else what the server's settings say
--   on_warning function(message): called by describe, once for each setting that breaks a promise
-- Raises an ArgumentError, which never shows URL, user or password.
return function(options)
  local kept = OPTIONS(options == nil and {} or options)
  local address, secrets = {}, {}
  for name, value in pairs(kept.url) do address[name] = value end
  for _, name in ipairs { "user", "password", "db", "ca_file" } do address[name] = kept[name] or address[name] end
  secrets[1] = address.password
  local base = "{" .. kept.prefix .. "}"
  local pool = pools.new(address, secrets, kept.timeout, kept.pool)
  return interface.new(setmetatable({ address = address, secrets = secrets, base = base, timeout = kept.timeout,
    durable = kept.durable, on_warning = kept.on_warning, warned = {}, hashes = {}, pool = pool,
    watchers = watches.new(pool, base .. "w") }, Redis))
end
