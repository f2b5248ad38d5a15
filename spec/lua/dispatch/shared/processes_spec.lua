-- Three processes with a dispatcher on one store, in files and on Redis, one of them killed and one stopped for longer
-- than its lease, at random: no message is lost, none is played twice to its end, and no two turns of a thread are
-- played at once. KOINE_ENGINE_SEEDS=n (make engines): so many schedules in place of 2, and half of it on Redis.

local folder = require "spec.support.folder"
local generator = require "spec.support.generator"
local koine = require "koine"
local redis = require "spec.lua.store.redis.server"
local wait = require "koine.task.wait"

local SEEDS = math.tointeger(tonumber(os.getenv "KOINE_ENGINE_SEEDS" or "2"))
local LUA = os.getenv "KOINE_LUA" or "lua5.4"
local TTL = 0.6        -- seconds
local MESSAGES = 36
local THREADS, SENDERS = { "T1", "T2", "T3", "T4" }, { "Ua", "Ub" }

-- A worker: {pid, pipe, name}.
local function start(where, dir, name, seed)
  local pipe = assert(io.popen(("echo $$; exec %s spec/lua/dispatch/shared/worker.lua %s %s/log %s %d %g 2>&1")
    :format(LUA, where, dir, name, seed, TTL)))
  return { pid = assert(pipe:read "l"), pipe = pipe, name = name }
end

local function signal(worker, word) os.execute(("kill -%s %s 2>/dev/null"):format(word, worker.pid)) end

-- Stops a worker for so many seconds. A shell lets it go on: it may have been stopped while it held the engine's lock,
-- for which this process then waits.
local function stop(worker, seconds)
  os.execute(("kill -STOP %s; { sleep %g; kill -CONT %s; } 2>/dev/null &"):format(worker.pid, seconds, worker.pid))
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- Hands in a message: its name, T1.Ua.7.
local function submit(d, random, n)
  local thread, sender = THREADS[random(#THREADS)], SENDERS[random(#SENDERS)]
  local prompt = ("%s.%s.%d"):format(thread, sender, n)
  assert(d:submit({ platform = "p", thread_id = thread }, { prompt = prompt, sender_json = "{}", sender_id = sender },
    { id = prompt }))
  return prompt
end

-- The texts that the threads keep.
local function histories(store)
  local texts = {}
  for _, thread in ipairs(THREADS) do
    texts[thread] = (store:get("h:dispatch:p:" .. thread) or "\n"):match "\n(.*)$" or ""
  end
  return texts
end

-- Whether all messages are in the histories, and the queues are empty.
local function is_done(store, sent)
  local texts = histories(store)
  for _, prompt in ipairs(sent) do
    if not texts[prompt:match "^T%d"]:find(prompt .. " ", 1, true) then return false end
  end
  return true
end

-- Each message once, the messages of a lane in their order.
local function check_histories(store, sent)
  local seen, latest = {}, {}
  for thread, text in pairs(histories(store)) do
    for prompt, lane, n in text:gmatch "(([^%s]+)%.(%d+)) " do
      assert.is_nil(seen[prompt], prompt .. " is twice in " .. thread)
      assert.is_true((latest[lane] or 0) < tonumber(n), "order in " .. lane)
      seen[prompt], latest[lane] = true, tonumber(n)
    end
  end
  for _, prompt in ipairs(sent) do assert.is_true(seen[prompt] or false, prompt .. " is lost") end
end

-- No turn of a thread begins while another runs, unless the lease of one is over: that one has no effect, and was begun
-- some time before, or by the process that was stopped.
local function check_turns(text, stopped)
  local done, open = {}, {}
  for key, fence in text:gmatch "D %S+ (%S+) (%d+)\n" do done[key .. fence] = true end
  for kind, name, key, fence, at in text:gmatch "([BE]) (%S+) (%S+) (%d+) ?([%d.]*)\n" do
    local turn = open[key]
    if kind == "B" then
      local new = { name = name, fence = tonumber(fence), at = tonumber(at) }
      local stale = turn and (turn.fence < new.fence and turn or new)
      if stale then
        assert.is_true(not done[key .. stale.fence] and (stale.name == stopped or new.at - stale.at >= TTL / 2),
          ("%s: %s began %s during the turn of %s, %d"):format(key, name, fence, turn.name, turn.fence))
      end
      if stale ~= new then open[key] = new end
    elseif turn and turn.fence == tonumber(fence) then
      open[key] = nil
    end
  end
end

-- `url`: of Redis; nil: the file engine.
local function play(seed, url)
  local random, dir = generator(seed), folder.in_memory()
  local workers, sent = {}, {}
  local gone <close> = setmetatable({}, { __close = function() -- luacheck: ignore gone
    for _, worker in ipairs(workers) do
      signal(worker, "KILL")
      worker.pipe:close()
    end
    folder.remove(dir)
  end })
  local where = url or dir .. "/store"
  local store = assert(url and koine.store.redis { url = url, prefix = dir:match "[^/]+$" }
    or koine.store.file { dir = where })
  local d = koine.dispatcher.shared { store = store, mode = "per-lane" }
  for i, name in ipairs { "A", "B", "C" } do workers[i] = start(where, dir, name, seed * 10 + i) end
  local killed, stopped = 1 + random(2) % 2, 3
  local kill_at, stop_at, go_at = random(MESSAGES), random(MESSAGES // 2), nil
  for n = 1, MESSAGES do
    sent[n] = submit(d, random, n)
    if n == kill_at then signal(workers[killed], "KILL") end
    if n == stop_at then
      stop(workers[stopped], TTL * 1.3)
      go_at = wait.now() + TTL * 1.5
    end
    wait.block({}, random(15) / 1000)
  end
  local deadline = wait.now() + 30
  repeat
    wait.block({}, 0.02)
    assert.is_true(wait.now() < deadline, "messages are left after 30 s")
  until wait.now() >= go_at and is_done(store, sent)
  check_histories(store, sent)
  check_turns(read(dir .. "/log"), workers[stopped].name)
end

describe("dispatchers of three processes, one killed and one stopped", function()
  for seed = 1, SEEDS do
    it(("keep every message and one turn of a thread at a time (seed %d)"):format(seed), function() play(seed) end)
  end

  describe("on Redis", function()
    if redis.missing then return pending(redis.missing) end
    local server
    setup(function() server = redis.start() end)
    teardown(function() server:stop() end)
    for seed = 1, SEEDS // 2 do
      it(("keep them, too (seed %d)"):format(seed), function() play(seed, "unix://" .. server.socket) end)
    end
  end)
end)
