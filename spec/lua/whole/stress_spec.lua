-- Everything that can be open, dropped and closed in every order: random schedules with fixed seeds. Nothing is left.
local core = require "koine.core"
local koine = require "koine"
local uv = require "luv"
local wait = require "koine.task.wait"

local STEPS = 2500 -- of a schedule
local SEEDS = { 1, 2, 3, 4 }
local MOST = 24 -- things of one kind that are held at a time

-- Streams, tasks and coroutines that somebody still holds; values are where they came from.
local alive = setmetatable({}, { __mode = "k" })

local function born(thing, what)
  alive[thing] = what
  return thing
end

-- Descriptors of this process.
local function descriptors()
  local entries, n = assert(uv.fs_scandir "/proc/self/fd"), 0
  while uv.fs_scandir_next(entries) do n = n + 1 end
  return n
end

local function collect()
  for _ = 1, 3 do collectgarbage() end
end

-- An error that the schedule brings about itself.
local function expected(err)
  return koine.errors.is_error(err) or tostring(err):find("on purpose", 1, true)
end

local function pick(list) return list[math.random(math.max(1, #list))] end

-- Takes a random element out.
local function take(list)
  if #list == 0 then return nil end
  local i = math.random(#list)
  local thing, last = list[i], table.remove(list)
  if i <= #list then list[i] = last end
  return thing
end

-- The objects that are held.
local adapters, streams, threads

local function open()
  local ok, stream, err = pcall(pick(adapters).open, pick(adapters), "Hi")
  if ok and stream then return born(stream, "stream") end
  assert(expected(ok and err or stream), tostring(stream))
end

-- {{{ what tasks do; each may be cancelled, closed or dropped at any of its waits

local jobs = {}

-- Reads a stream to its end, which may never come.
function jobs.read()
  local stream <close> = open()
  while stream and stream:next() do end
end

-- The same, without closing it.
function jobs.leave()
  local stream = open()
  if stream then stream:next() end
end

function jobs.sleep() koine.sleep(math.random() * 0.001) end

function jobs.forever() wait.park({}) end

function jobs.fail()
  koine.sleep(0)
  error "on purpose"
end

function jobs.gather()
  local a, b = jobs[pick { "read", "sleep", "leave" }], jobs[pick { "read", "sleep", "fail" }]
  koine.gather(a, b)
end

function jobs.timeout() koine.timeout(math.random() * 0.001, jobs[pick { "read", "forever", "gather" }]) end

function jobs.nested()
  koine.run(function()
    for _ = 1, math.random(3) do koine.spawn(jobs[pick { "read", "sleep", "leave" }]) end
    if math.random(4) == 1 then error "on purpose" end
    koine.sleep(0)
    wait.task():cancel()
  end)
end

function jobs.held()
  local _ <close> = setmetatable({}, { __close = function() if math.random(8) == 1 then error "on purpose" end end })
  jobs.read()
end

local NAMES = { "read", "leave", "sleep", "forever", "fail", "gather", "timeout", "nested", "held" }

-- The main task of a run: it starts and cancels others, and gives way to whoever resumed the run, until it has done
-- enough or is dropped.
local function main(steps)
  local tasks = {}
  for _ = 1, steps do
    local what = math.random(6)
    if what <= 3 and #tasks < MOST then
      local name = pick(NAMES)
      if name == "fail" and math.random(9) > 1 then name = "sleep" end -- it ends the run
      tasks[#tasks + 1] = born(koine.spawn(jobs[name]), name)
    elseif what == 4 and #tasks > 0 then
      take(tasks):cancel()
    elseif what == 5 then
      koine.sleep(0)
    else
      coroutine.yield()
    end
  end
  if math.random(2) == 1 then
    for _, task in ipairs(tasks) do task:cancel() end
  else
    error "on purpose"
  end
end

-- }}}

-- {{{ steps

local steps = {}

local function resume(thread, ...)
  local ok, err = coroutine.resume(thread, ...)
  assert(ok or expected(err), tostring(err))
end

function steps.adapter()
  local make = pick { koine.anthropic, koine.compatible }
  adapters[math.random(4)] = make { model = "m", base_url = adapters.url, key = "test-key-1", retry = false }
end

function steps.close_adapter() pick(adapters):close() end

function steps.open()
  if #streams < MOST then streams[#streams + 1] = open() end
end

function steps.poll()
  local stream = pick(streams)
  for _ = 1, stream and math.random(5) or 0 do
    if not stream:poll(math.random(3) == 1) then break end
  end
end

function steps.finish()
  local stream = pick(streams)
  if stream and stream:poll() == nil then stream:finish() end
end

function steps.close()
  local stream = math.random(2) == 1 and pick(streams) or take(streams)
  if stream then stream:close() end
end

function steps.drop() take(streams) end

-- A generator over a stream, which never blocks.
function steps.generator()
  if #threads >= MOST then return end
  local thread = born(coroutine.create(function()
    local stream <close> = open()
    while stream do
      local delta, err = stream:poll()
      if delta == nil or err then break end
      coroutine.yield(delta)
    end
  end), "generator")
  threads[#threads + 1] = thread
  resume(thread)
end

function steps.run()
  if #threads >= MOST then return end
  local thread = born(coroutine.create(koine.run), "run")
  threads[#threads + 1] = thread
  resume(thread, main, math.random(60))
end

function steps.resume()
  local thread = pick(threads)
  if thread and coroutine.status(thread) == "suspended" then resume(thread) end
end

function steps.close_thread()
  local thread = take(threads)
  local ok, err = coroutine.close(thread or coroutine.create(print))
  assert(ok or expected(err), tostring(err))
end

function steps.drop_thread() take(threads) end

function steps.pump() wait.pump(pick { 0, 0.001 }) end

function steps.collect() collectgarbage "step" end

local WEIGHTS = { open = 6, poll = 6, finish = 2, close = 4, drop = 3, adapter = 1, close_adapter = 1, generator = 4,
  run = 4, resume = 8, close_thread = 3, drop_thread = 3, pump = 6, collect = 1 }

-- }}}

describe("a random schedule", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  -- Answers of all kinds, in random order.
  local function script()
    local turns = {}
    for i = 1, STEPS // 2 do
      turns[i] = pick {
        { content = "Hello." },
        { content = ("word "):rep(math.random(400)), chunk = 20 },
        { content = ("word "):rep(100), chunk = 5, fault = { stall_after = math.random(0, 3000) } },
        { content = ("word "):rep(100), chunk = 5, fault = { reset_after = math.random(0, 3000) } },
        { content = ("word "):rep(100), chunk = 5, fault = { truncate_after = math.random(0, 3000) } },
        { error = { status = pick { 400, 429, 529 } } },
      }
    end
    assert(server:script(turns))
  end

  local function schedule(seed)
    math.randomseed(seed)
    assert(server:reset())
    script()
    adapters, streams, threads = { url = server.url }, {}, {}
    local names = {}
    for name in pairs(WEIGHTS) do names[#names + 1] = name end
    table.sort(names)
    local lots = {}
    for _, name in ipairs(names) do
      for _ = 1, WEIGHTS[name] do lots[#lots + 1] = name end
    end
    for _ = 1, 20 do steps.adapter() end
    for _ = 1, STEPS do steps[pick(lots)]() end
    adapters, streams, threads = nil, nil, nil
  end

  -- libcurl keeps connections for the next request and looks once a second, when there is one, which of them their
  -- server has closed: after this only the new server's is left.
  local function renew_server()
    server:stop()
    assert(wait.sleep(1.1))
    server = assert(koine.testing.start())
    assert(server:reset())
  end

  it("of 10,000 steps leaves no descriptor, no memory, nothing that is open", function()
    renew_server()
    local before, size = descriptors(), nil
    for _, seed in ipairs(SEEDS) do
      schedule(seed)
      collect()
      local left = {}
      for thing, what in pairs(alive) do left[#left + 1] = what .. " " .. tostring(thing) end
      assert.are.same({}, left, "seed " .. seed)
      assert.is_truthy(tostring(core.engine()):find("(0 in flight)", 1, true), "seed " .. seed)
      local now = collectgarbage "count"
      size = size or now
      assert(now <= size + 128, ("seed %d: %.0f KiB, %.0f after the first"):format(seed, now, size))
    end
    renew_server()
    assert.are.equal(before, descriptors())
  end)
end)
