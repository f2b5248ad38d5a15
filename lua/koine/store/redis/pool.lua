--- Connections to one Redis server: as many as are in use at once, up to a number; beyond it commands share them.

local defer = require "koine.task.defer"
local failure = require "koine.store.redis.failure"
local link = require "koine.store.redis.link"
local resp = require "koine.store.redis.resp"
local wait = require "koine.task.wait"

local pool = {}

local methods = {}
local Pool = { __index = methods, __name = "koine.store.redis.pool" }

-- Makes itself known to the server: true; nil, err.
local function greet(self, made, deadline)
  local address, commands = self.address, {}
  if address.password then
    commands[1] = address.user and { "AUTH", address.user, address.password } or { "AUTH", address.password }
  end
  if address.db then commands[#commands + 1] = { "SELECT", address.db } end
  for _, command in ipairs(commands) do -- one by one: a command behind one that failed would go to another database
    local replies, err = made:exchange(resp.encode(command), 1, deadline, self.timeout)
    if not replies then return nil, err end
    if resp.is_error(replies[1]) then return nil, failure.of_reply(replies[1], address.where, self.secrets) end
    if replies[1] ~= "OK" then return made:refuse(command[1]) end
  end
  return true
end

--- Opens a connection of its own, which is not kept here: a link, or nil, err.
function methods:open(deadline)
  local made, err = link.open(self.address, self.secrets, deadline - wait.now())
  if not made then return nil, err end
  local failing <close> = defer(function() made:fail(failure.closed(self.address.where)) end)
  local ok
  ok, err = greet(self, made, deadline)
  if not ok then return nil, err end
  failing:cancel()
  return made
end

-- Those who wait for a connection look again.
local function tell(self) wait.wake(self) end

-- Opens one for the pool.
local function add(self, deadline)
  self.opening = self.opening + 1
  local opened <close> = defer(function() -- luacheck: ignore opened
    self.opening = self.opening - 1
    tell(self)
  end)
  local made, err = self:open(deadline)
  if not made then return nil, err end
  if self.closed then
    made:fail(self.closed)
    return nil, self.closed
  end
  self.links[#self.links + 1] = made
  return made
end

-- Whether a call came in the middle of what is done at once: a finalizer made it, further up the stack.
local function is_inside(self)
  if self.looking then return true end
  for _, one in ipairs(self.links) do
    if one.torn and not one.failure then return true end
  end
  return false
end

-- The usable one with the fewest commands; those that are of no use go.
local function best_of(self)
  local looked <close> = self.looked -- luacheck: ignore looked
  self.looking = true
  local best, n = nil, 0
  for i = 1, #self.links do
    local one = self.links[i]
    self.links[i] = nil
    if one:is_usable() then
      n = n + 1
      self.links[n] = one
      if not best or one:load() < best:load() then best = one end
    end
  end
  return best
end

-- A link to send on; nil, err. A caller that blocks the thread does not wait for one that another coroutine opens, as
-- that cannot go on meanwhile: there may be one more than `most` then.
local function get(self, deadline)
  while not self.closed do
    if is_inside(self) then return nil, failure.inside(self.address.where) end
    local best = best_of(self)
    if best and (best:is_idle() or #self.links + self.opening >= self.most) then return best end
    if #self.links + self.opening < self.most or not wait.suspends() then return add(self, deadline) end
    local left = deadline - wait.now()
    if left <= 0 then return nil, failure.late(self.address.where, self.timeout) end
    local _, cancelled = wait.park(self, left)
    if cancelled then return nil, cancelled end
  end
  return nil, self.closed
end

--- Sends commands (encoded) on some connection and waits for so many replies: an array and the connection, whose
-- `refuse` is called where they do not fit what was asked; or nil, err.
function methods:exchange(bytes, count, deadline)
  local one, err = get(self, deadline)
  if not one then return nil, err end
  local replies
  replies, err = one:exchange(bytes, count, deadline, self.timeout)
  if not replies then return nil, err end
  return replies, one
end

--- Closes all connections: whoever waits on one, and all who come later, get `err`.
function methods:close(err)
  self.closed = err
  for _, one in ipairs(self.links) do one:fail(err) end
  self.links = {}
  tell(self)
end

--- A pool without connections: address.lua's table with ca_file, secrets, seconds for a command, the most connections.
function pool.new(address, secrets, timeout, most)
  local self = setmetatable({ address = address, secrets = secrets, timeout = timeout, most = most, links = {},
    opening = 0, looking = false, closed = false }, Pool)
  self.looked = setmetatable({}, { __close = function() self.looking = false end })
  return self
end

return pool
