-- Dispatchers on every engine: two machines hand in, play, cancel, forget and give back.

local chat_lab = require "spec.lua.dispatch.kit"
local folder = require "spec.support.folder"
local koine = require "koine"
local postgres = require "spec.lua.store.sql.postgres"
local redis = require "spec.lua.store.redis.server"
local sqlite = require "spec.lua.store.sql.sqlite"
local wait = require "koine.task.wait"

-- The tests, on the engine that open() opens, each time another handle.
local function tests(open)
  local log, hold, names
  local thread = chat_lab.thread "T1"

  before_each(function()
    log, hold = {}, false
    names = ("d%x:"):format(math.random(1 << 40)) -- queues of its own
  end)

  local function machine(name, prefix)
    local function note(...) log[#log + 1] = table.concat({ name, ... }, ":") end
    return koine.dispatcher.shared { store = open(), owner = name, mode = "per-thread", prefix = prefix or names,
      target = { run_turn = function(_, _, _, ctx)
        note(ctx.messages[1].prompt, ctx.tries, ctx.history or "-")
        while hold and not ctx.cancelled() do koine.sleep(0.002) end
        if ctx.cancelled() then return nil, koine.errors.new { kind = "cancelled", message = "cancelled" } end
        ctx.keep((ctx.history or "") .. ctx.messages[1].prompt)
        return true
      end },
      on_error = function(message, _, err) note("error", message.prompt, err.kind) end,
      on_dispatch = function(record) note(record.outcome) end }
  end

  local function say(d, prompt) assert(d:submit(thread, chat_lab.message("ann", prompt), { id = prompt })) end

  -- Waits until the log has so many entries: the log, which is then empty.
  local function words(n)
    local deadline = wait.now() + 10
    repeat koine.sleep(0.005) until #log >= n or wait.now() > deadline
    local text = table.concat(log, " ")
    log = {}
    return text
  end

  it("plays what another one handed in, and goes on with its history", function()
    local a, b = machine "A", machine "B"
    for i = 1, 3 do
      say(a, "m" .. i)
      say(b, "m" .. i)
      while (i % 2 == 0 and a or b):step() do end
    end
    assert.are.equal("B:m1:1:- B:ok A:m2:1:m1 A:ok B:m3:1:m1m2 B:ok", table.concat(log, " "))
  end)

  it("leaves the threads of other dispatchers alone, whatever their prefixes", function()
    local own = names:sub(1, -2)
    local a, b, c = machine("A", own), machine("B", own .. "2"), machine("C", own .. ":")
    say(b, "m1")
    assert.is_false(a:step())
    assert.is_false(c:step())
    assert.is_true(b:step())
    say(a, "m2")
    assert.is_false(b:step())
    assert.is_true(c:step()) -- the same prefix as A's
    assert.are.equal("B:m1:1:- B:ok C:m2:1:- C:ok", table.concat(log, " "))
  end)

  it("cancels, drops and forgets from another machine, and gives back", function()
    koine.run(function()
      local a, b = machine "A", machine "B"
      koine.spawn(a.run, a)
      say(b, "m0")
      assert.are.equal("A:m0:1:- A:ok", words(2))
      hold = true
      say(b, "m1")
      assert.are.equal("A:m1:1:m0", words(1))
      assert.is_true(b:cancel_turn(thread))
      assert.are.equal("A:error:m1:cancelled A:cancelled", words(2))
      say(b, "m2")
      assert.are.equal("A:m2:1:m0", words(1))
      say(b, "m3")
      assert.is_true(b:reset(thread))
      assert.are.equal("A:error:m2:cancelled A:cancelled A:error:m3:cancelled", words(3))
      say(b, "m4")
      assert.are.equal("A:m4:1:-", words(1))
      assert.are.equal(1, #a:shutdown())
      assert.are.equal("A:given_back", words(1))
      hold = false
      assert.is_true(b:step())
      assert.are.equal("B:m4:2:- B:ok", words(2))
      assert.is_false(b:step())
    end)
  end)
end

describe("koine.dispatcher.shared in memory", function()
  local first = koine.store.memory()
  tests(function() return koine.store.memory { same_as = first } end)
end)

describe("koine.dispatcher.shared on files", function()
  local dir
  setup(function() dir = folder.in_memory() end)
  teardown(function() folder.remove(dir) end)
  tests(function() return assert(koine.store.file { dir = dir .. "/store" }) end)
end)

describe("koine.dispatcher.shared on SQLite", function()
  if sqlite.missing then return pending(sqlite.missing) end
  local dir, path
  setup(function() dir, path = sqlite.make() end)
  teardown(function() folder.remove(dir) end)
  tests(function() return koine.store.sql { dialect = "sqlite", connect = path } end)
end)

describe("koine.dispatcher.shared on Redis", function()
  if redis.missing then return pending(redis.missing) end
  local server, open
  setup(function()
    server = redis.start()
    open = server:opener()
  end)
  teardown(function() server:stop() end)
  tests(function() return open() end)
end)

describe("koine.dispatcher.shared on PostgreSQL", function()
  if postgres.missing then return pending(postgres.missing) end
  local server
  setup(function() server = postgres.start() end)
  teardown(function() server:stop() end)
  tests(function() return server:open() end)
end)
