--- A run's place in a store: its lease, which is renewed, and its value, which is replaced only while it is the one
-- that was written or read here last. Both together make of several processes exactly one that goes on: a put succeeds
-- while the fence is the newest and the version the known one, whatever clocks say. What is done here for one run is
-- done one after the other. A hold is
-- {store, key, owner, ttl, timeout, fence, version (of the value; "absent" before the first), since (when the lease
-- was last asked for), tried (texts whose put has an unknown end), mutex, lost (nil, or the error that ended it),
-- on_lost (nil, or function(err))}

local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local mutex = require "koine.task.mutex"
local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local holds = {}

local FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1 -- seconds between two tries of a save
local PUTS = 3      -- in one try, each after another reason for a refusal was found and mended
local RENEWALS = 3  -- in a ttl

local methods = {}
local metatable = { __index = methods, __name = "koine.agent.hold" }

--- Leases a key: {store, key, owner, ttl, timeout} → a hold without a value yet; or false and the seconds that another
-- owner has it; or nil, err.
function holds.lease(of)
  local asked = wait.now()
  local fence, left = of.store:lease(of.key, of.owner, of.ttl)
  if not fence then return fence, left end
  return setmetatable({ store = of.store, key = of.key, owner = of.owner, ttl = of.ttl, timeout = of.timeout,
    fence = fence, version = "absent", since = asked, tried = {}, mutex = mutex() }, metatable)
end

--- Makes an error about a key. `fields` has kind, message, and what else the error shall have.
function holds.failure(key, fields)
  fields.message = ("keeper: run %s: %s"):format(errors.describe(key), fields.message)
  return errors.new(fields)
end

-- Ends the hold: nil, err.
local function lose(self, why)
  self.lost = holds.failure(self.key, { kind = "cancelled", code = "lease_lost", message = why })
  if self.on_lost then self.on_lost(self.lost) end
  return nil, self.lost
end

local function age(self) return wait.now() - self.since end

-- Renews the lease: true, or nil, err. A lease that ended unnoticed and that nobody else had meanwhile is taken anew.
local function renew(self)
  local asked = wait.now()
  local fence, left = self.store:lease(self.key, self.owner, self.ttl)
  if fence == nil then return nil, left end
  if not fence then return lose(self, "another owner has its lease") end
  if fence ~= self.fence and fence ~= self.fence + 1 then
    self.store:release(self.key, self.owner)
    return lose(self, "another owner had its lease")
  end
  self.fence, self.since = fence, asked
  return true
end

local function confirm(self, version) self.version, self.tried = version, {} end

-- Mends what made a put of the text fail: "again": it may be tried; "saved": an earlier try had succeeded; nil, err.
local function mend(self, text)
  local held, err = renew(self)
  if not held then return nil, err end
  local value, version = self.store:get(self.key)
  if value == nil and version then return nil, version end
  if value == nil and self.version ~= "absent" then return lose(self, "its value was deleted") end
  if value ~= nil and self.tried[value] then
    confirm(self, version)
    return value == text and "saved" or "again"
  end
  if value ~= nil and self.version ~= version then return lose(self, "its value was changed by another program") end
  return "again"
end

-- Puts the text: true, or nil, err.
local function put(self, text)
  if age(self) > self.ttl / RENEWALS then
    local held, err = renew(self)
    if not held then return nil, err end
  end
  for _ = 1, PUTS do
    self.tried[text] = true
    local version, err = self.store:put(self.key, text,
      { if_version = self.version, fence = { self.key, self.fence } })
    if version then
      confirm(self, version)
      return true
    end
    if version == nil then return nil, err end
    local mended
    mended, err = mend(self, text)
    if mended ~= "again" then return mended, err end
  end
  return lose(self, "its value cannot be replaced, though its lease is held")
end

-- Tries to put the text for so long as the hold's timeout says: true, or nil, err.
local function put_in_time(self, text)
  local deadline, pause = wait.now() + self.timeout, FIRST_PAUSE
  while true do
    local saved, err = put(self, text)
    if saved or self.lost or not err.retryable or wait.now() + pause > deadline then return saved, err end
    local _, cancelled = wait.sleep(pause)
    if cancelled then return nil, cancelled end
    pause = math.min(pause * 2, LONGEST_PAUSE)
  end
end

--- Replaces the value by what run:dump() returns: true; or nil, err: the hold is lost (then hold.lost is that error),
-- or the store could not be used for the whole timeout, or answers that it never will. Waits for a save that is under
-- way, and saves the run as it is then.
function methods:save(run)
  local done <close>, err = self.mutex:hold() -- luacheck: ignore done
  if err then return nil, err end
  if self.lost then return nil, self.lost end
  local saved
  saved, err = put_in_time(self, run:dump())
  if not saved then
    if self.lost then return nil, err end
    return nil, holds.failure(self.key, { kind = err.kind, code = err.code, retryable = err.retryable,
      message = "it could not be saved: " .. tostring(err) })
  end
  if age(self) > self.ttl then renew(self) end -- it took long: who has the lease now?
  if self.lost then return nil, self.lost end
  return true
end

--- Ends the lease; the value stays. True, or nil, err.
function methods:release() return self.store:release(self.key, self.owner) end

--- The lease as tools get it: {key, fence, owner}.
function methods:lease() return { key = self.key, fence = self.fence, owner = self.owner } end

-- Renews the lease for ever; while the store cannot be used, the next save decides.
local function keep_renewing(self)
  while not self.lost do
    local left = self.ttl / RENEWALS - age(self)
    if left <= 0 then
      local done <close>, err = self.mutex:hold() -- luacheck: ignore done
      if err then return end
      if age(self) > self.ttl / RENEWALS and not renew(self) then left = self.ttl / RENEWALS end
    end
    if left > 0 and not wait.sleep(left) then return end
  end
end

--- Runs f() as a task, and another one beside it that renews the lease until f has ended. Raises what they raise.
function methods:renewing(f)
  local ended, beside = false, nil
  scheduler.gather(function()
    local over <close> = defer(function() -- luacheck: ignore over
      ended = true
      if beside then beside:cancel() end
    end)
    f()
  end, function()
    if ended then return end
    beside = wait.task()
    keep_renewing(self)
  end)
end

return holds
