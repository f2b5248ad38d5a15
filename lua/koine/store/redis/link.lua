--- One connection to a Redis server: commands of several coroutines go out one behind the other, and their replies come
-- back in that order. Whoever waits, and finds that nobody reads, reads for all. A coroutine that leaves before its
-- replies are there leaves their places behind. A connection that fails takes along the commands that wait on it, and
-- no others.

local connect = require "koine.net.connect"
local defer = require "koine.task.defer"
local failure = require "koine.store.redis.failure"
local queue = require "koine.task.queue"
local resp = require "koine.store.redis.resp"
local wait = require "koine.task.wait"

local READ = 64 << 10 -- bytes asked for at a time

local link = {}

local methods = {}
local Link = { __index = methods, __name = "koine.store.redis.link" }

--- Whether no replies are awaited.
function methods:is_idle() return self.waiting:peek() == nil end

--- How many commands wait for replies.
function methods:load() return self.waiting:count() end

--- Ends the connection: whoever waits on it gets `err`, now and later.
function methods:fail(err)
  if self.failure then return end
  self.failure = err
  self.connection:close()
  for _, waiter in self.waiting:entries() do wait.wake(waiter) end
end

--- Ends a connection whose reply does not fit what was asked, an operation or a command: what comes behind it may not
-- be the reply to the next one. Returns nil and the error of that reply; others who wait get one of a connection that
-- was closed.
function methods:refuse(asked)
  self:fail(failure.closed(self.where))
  return nil, failure.odd(self.where, asked)
end

--- No new commands: it closes when nobody waits on it.
function methods:retire()
  self.retired = true
  for _, waiter in self.waiting:entries() do
    if not waiter.gone then return end
  end
  self:fail(failure.closed(self.where))
end

--- Whether it can take a command. One that nobody used for a while may have ended meanwhile; then it fails here.
function methods:is_usable()
  if self.failure or self.retired then return false end
  if not self:is_idle() then return true end
  local news, err = self.connection:take(1)
  if news == false then return true end
  self:fail(err and failure.of_connection(err, self.where, self.secrets) or failure.closed(self.where))
  return false
end

-- Gives the replies that are there to those who wait. Where memory is short in the middle, it is not known how far that
-- went: whoever leaves then ends the connection.
local function hand_out(self)
  while true do
    local reply, err = self.reader:next()
    if err then return self:fail(failure.of_connection(err, self.where, self.secrets)) end
    if reply == nil then
      self.torn = false
      return
    end
    local waiter = self.waiting:peek()
    if not waiter then return self:fail(failure.closed(self.where)) end -- an answer too many
    waiter.replies[#waiter.replies + 1] = reply
    if #waiter.replies == waiter.count then
      self.waiting:pop()
      waiter.done = true
      wait.wake(waiter)
    end
  end
end

-- Reads for all, or finds out that another coroutine has: true; nil, err where the caller was cancelled.
local function read(self, seconds)
  local bytes, err = self.connection:take(READ)
  if bytes == false then
    local _, cancelled = wait.park(self.connection, seconds)
    if cancelled then return nil, cancelled end
  elseif bytes then
    self.torn = true
    self.reader:feed(bytes)
    hand_out(self)
  else
    self:fail(err and failure.of_connection(err, self.where, self.secrets) or failure.closed(self.where))
  end
  return true
end

-- The waiter leaves: another one reads from now on.
local function leave(self, waiter)
  waiter.gone = true
  if self.torn or not waiter.sent then self:fail(failure.closed(self.where)) end
  if self.reading == waiter then self.reading = false end
  if self.retired then self:retire() end
  if self.reading or self.failure then return end
  for _, other in self.waiting:entries() do
    if not other.gone then return wait.wake(other) end
  end
end

-- Reads for all, or waits until another one has read something for this one, or reads no more: nil, err where the
-- caller was cancelled. A caller that blocks the thread reads beside the other one, which cannot go on meanwhile.
local function await(self, waiter, seconds)
  if self.reading and wait.suspends() then return wait.park(waiter, seconds) end
  if self.reading then return read(self, seconds) end
  self.reading = waiter
  local ok, err = read(self, seconds)
  if self.reading == waiter then self.reading = false end
  return ok, err
end

--- Sends commands, encoded, and waits for so many replies until `deadline` (monotonic seconds): an array of them,
-- errors of the server's among them; nil, err. `seconds` is what errors say of the deadline.
function methods:exchange(bytes, count, deadline, seconds)
  local waiter = { count = count, replies = {}, sent = false, done = false, gone = false }
  local leaving <close> = defer(function() leave(self, waiter) end) -- luacheck: ignore leaving
  self.waiting:push(waiter)
  local sent, err = self.connection:put(bytes)
  if not sent then
    if not self.failure then self:fail(failure.of_connection(err, self.where, self.secrets)) end
    return nil, self.failure
  end
  waiter.sent = true
  while not waiter.done do
    local left = deadline - wait.now()
    if self.failure then return nil, self.failure end
    if left <= 0 then
      self.retired = true
      return nil, failure.late(self.where, seconds)
    end
    local ok, cancelled = await(self, waiter, left)
    if ok == nil then return nil, cancelled end
  end
  return waiter.replies
end

--- Opens a connection to `address` (address.lua's, and ca_file) within so many seconds: a link, or nil, err. It is the
-- caller's to greet the server.
function link.open(address, secrets, seconds)
  local connection, err = connect.open({ host = address.host, port = address.port, path = address.path,
    tls = address.tls, ca_file = address.ca_file, timeout = math.max(seconds, 0.001) }, true)
  if not connection then return nil, failure.of_connection(err, address.where, secrets) end
  return setmetatable({ connection = connection, reader = resp.reader(), waiting = queue.new(), where = address.where,
    secrets = secrets, reading = false, failure = false, retired = false, torn = false }, Link)
end

return link
