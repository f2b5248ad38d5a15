--- Those who wait for something new in a store on Redis: they share one subscription, on a connection of its own, which
-- is made when somebody waits and kept until it fails. One of those who wait reads for all.

local defer = require "koine.task.defer"
local failure = require "koine.store.redis.failure"
local resp = require "koine.store.redis.resp"
local wait = require "koine.task.wait"

local watch = {}

local methods = {}
local Watch = { __index = methods, __name = "koine.store.redis.watch" }

-- Tells those whose prefix the name begins with.
local function changed(self, name)
  for token in pairs(self.waiting) do
    if not token.woken and name:sub(1, #token.prefix) == token.prefix then
      token.woken = true
      wait.wake(token)
    end
  end
end

local function drop(self)
  if self.link then self.link:fail(failure.closed(self.pool.address.where)) end
  self.link = false
end

-- Subscribes: true; nil, err.
local function subscribe(self, seconds)
  local made, err = self.pool:open(wait.now() + math.min(seconds, self.pool.timeout))
  if not made then return nil, err end
  if self.closed then
    made:fail(self.closed)
    return nil, self.closed
  end
  local sent
  sent, err = made.connection:put(resp.encode { "SUBSCRIBE", self.channel })
  if not sent then return nil, failure.of_connection(err, made.where, made.secrets) end
  self.link = made
  return true
end

-- Takes what the server says: an array {"message", channel, name}, or {"subscribe", …}.
local function take(self, bytes)
  local reader = self.link.reader
  self.link.torn = true
  reader:feed(bytes)
  while true do
    local reply, err = reader:next()
    if err then return nil, failure.of_connection(err, self.link.where, self.link.secrets) end
    if reply == nil then
      self.link.torn = false
      return true
    end
    if resp.is_error(reply) then return nil, failure.of_reply(reply, self.link.where, self.link.secrets) end
    local said = type(reply) == "table" and reply[1]
    if said == "message" and type(reply[3]) == "string" then
      changed(self, reply[3])
    elseif said ~= "subscribe" then
      return nil, failure.odd(self.link.where, "SUBSCRIBE")
    end
  end
end

-- Reads for all for so many seconds: true; nil, err.
local function read(self, seconds)
  if self.link and self.link.torn then drop(self) end -- memory was short in the middle of a message
  if not self.link then
    local ok, err = subscribe(self, seconds)
    if not ok then return nil, err end
  end
  local made = self.link
  local bytes, err = made.connection:read(4096, seconds)
  if self.closed then return nil, self.closed end
  if bytes then
    local ok
    ok, err = take(self, bytes)
    if ok then return true end
  elseif err and err.kind == "timeout" then
    return true
  elseif err and err.kind == "cancelled" then
    return nil, err
  else
    err = err and failure.of_connection(err, made.where, made.secrets) or failure.closed(made.where)
  end
  drop(self)
  return nil, err
end

-- Reads for all, or waits until another one has heard something, or reads no more: nil, err.
local function await(self, token, seconds)
  if self.reading then return wait.park(token, seconds) end
  self.reading = token
  local ok, err = read(self, seconds)
  self.reading = false
  return ok, err
end

-- Another one reads from now on.
local function hand_over(self)
  local other = next(self.waiting)
  if other then wait.wake(other) end
end

--- Waits until a name with the prefix is told of: true; false after so many seconds; nil, err.
function methods:wait(prefix, seconds)
  local token, deadline = { prefix = prefix, woken = false }, wait.now() + seconds
  local leaving <close> = defer(function() -- luacheck: ignore leaving
    self.waiting[token] = nil
    if self.reading == token then self.reading = false end
    if not self.reading then hand_over(self) end
  end)
  self.waiting[token] = true
  while true do
    if self.closed then return nil, self.closed end
    if token.woken then return true end
    local left = deadline - wait.now()
    if left <= 0 then return false end
    local ok, err = await(self, token, left)
    if ok == nil then return nil, err end
  end
end

--- Ends all waits with `err`.
function methods:close(err)
  self.closed = err
  drop(self)
  for token in pairs(self.waiting) do wait.wake(token) end
end

--- Nobody waits. `pool` opens connections; names come over the channel.
function watch.new(pool, channel)
  return setmetatable({ pool = pool, channel = channel, waiting = {}, link = false, reading = false, closed = false },
    Watch)
end

return watch
