-- The contract of stores on a real redis-server. KOINE_ENGINE_SEEDS=n (make engines): so many random runs in place of
-- 10.

local koine = require "koine"
local redis = require "spec.lua.store.redis.server"

local MANY = math.tointeger(tonumber(os.getenv "KOINE_ENGINE_SEEDS" or "10"))

local function seeds()
  local list = {}
  for i = 1, MANY do list[i] = i end
  return list
end

if redis.missing then
  describe("koine.store.redis", function() pending("keeps the contract: " .. redis.missing) end)
  return
end

describe("koine.store.redis", function()
  local server, open
  setup(function()
    server = redis.start()
    open = server:opener()
  end)
  teardown(function() server:stop() end)
  koine.testing.store_contract.describe("redis", { describe = describe, it = it, open = function() return open() end,
    unit = 0.1, seeds = seeds() })
end)

-- The items of the contract whose names have one of the patterns.
local function items_of(options, patterns)
  for _, item in ipairs(koine.testing.store_contract.items(options)) do
    for _, pattern in ipairs(patterns) do
      if item.name:find(pattern) then
        it(item.name, item.run)
        break
      end
    end
  end
end

describe("koine.store.redis with one connection, over a UNIX socket", function()
  local server, open
  setup(function()
    server = redis.start()
    open = server:opener { url = "unix://" .. server.socket, pool = 1 }
  end)
  teardown(function() server:stop() end)
  items_of({ open = function() return open() end, unit = 0.1, seeds = { 1 } },
    { "many", "S10", "watch", "close", "largest", "random" })
end)

describe("koine.store.redis that is killed and started again", function()
  local server, open
  setup(function()
    server = redis.start "--appendonly yes --appendfsync always"
    open = server:opener()
  end)
  teardown(function() server:stop() end)
  local function restart()
    server:kill()
    server:start()
  end
  items_of({ open = function() return open() end, unit = 0.1, restart = restart }, { "restart" })
end)
