-- cluster.lua [file]: three processes answer the messages of five threads; one of them is killed in the middle, and
-- nothing is lost. The store is a Redis server of its own, or the file engine where there is none, or with the argument
-- "file"; Koine's loopback provider stands in for the model and repeats what it is asked.
local koine = require "koine"

local THREADS, EACH = 5, 6
local LUA, HERE = arg[-1] or "lua5.4", arg[0]:match "^(.*)/" or "."
local SCRATCH = os.tmpname()
os.remove(SCRATCH)
assert(koine.process.run { "mkdir", "-m", "700", SCRATCH })

local has_redis = arg[1] ~= "file" and koine.process.run({ "sh", "-c", "command -v redis-server" }).code == 0
local where = has_redis and "unix://" .. SCRATCH .. "/redis.sock" or SCRATCH .. "/store"

-- Runs a program beside this one until the task is cancelled; then the program is ended at once.
local function start(...)
  local argv = { ... }
  return koine.spawn(function()
    local ended = assert(koine.process.run(argv, { merge = true, grace = 0 }))
    error(("%s ended with %s:\n%s"):format(argv[1], ended.code or ended.signal, ended.stdout), 0)
  end)
end

local function open_store()
  if not has_redis then return assert(koine.store.file { dir = where }) end
  local store = koine.store.redis { url = where }
  for _ = 1, 200 do
    if store:describe() then return store end
    koine.sleep(0.02)
  end
  error "redis-server does not answer"
end

-- The lines of a worker's file.
local function lines(file, name)
  local list, log = {}, io.open(("%s/%s.%s"):format(SCRATCH, file, name))
  if log then
    for line in log:lines() do list[#list + 1] = line end
    log:close()
  end
  return list
end

local function prompt(thread, n) return ("question %d of thread %d"):format(n, thread) end

-- How often each message stands in the histories: those in them, those that are there twice.
local function count(store)
  local found, doubled = 0, 0
  for thread = 1, THREADS do
    local history = store:get("h:dispatch:chat:T" .. thread) or ""
    for n = 1, EACH do
      local _, times = history:gsub('"text":"' .. prompt(thread, n) .. '"', "")
      found, doubled = found + (times > 0 and 1 or 0), doubled + (times > 1 and 1 or 0)
    end
  end
  return found, doubled
end

local function cluster(provider)
  local redis = has_redis and start("redis-server", "--port", "0", "--unixsocket", SCRATCH .. "/redis.sock",
    "--save", "", "--dir", SCRATCH)
  local store <close> = open_store()
  local described = assert(store:describe())
  print(("engine: %s %s"):format(described.name, described.version))

  local names, workers = { "A", "B", "C" }, {}
  for i, name in ipairs(names) do
    workers[i] = start(LUA, HERE .. "/worker.lua", where, provider.url, name, SCRATCH)
  end

  local front = koine.dispatcher.shared { store = store } -- which only hands in: it has no target
  for n = 1, EACH do
    for thread = 1, THREADS do
      assert(front:submit({ platform = "chat", thread_id = "T" .. thread }, { prompt = prompt(thread, n),
        sender_json = '{"sender_name":"ann"}' }, { id = ("%d-%d"):format(thread, n) }))
    end
  end
  print(("%d messages in %d threads"):format(EACH * THREADS, THREADS))

  local victim = math.random(#names)
  repeat koine.sleep(0.01) until #lines("answers", names[victim]) > 0
  workers[victim]:cancel()
  print(("killed: worker %s, after %d of its turns"):format(names[victim], #lines("answers", names[victim])))

  repeat koine.sleep(0.05) until count(store) == EACH * THREADS
  koine.sleep(0.1) -- for the hooks of the last turn
  for i, worker in ipairs(workers) do
    worker:cancel()
    print(("worker %s: %d turns, %d of them begun before by another one, %d warnings"):format(names[i],
      #lines("answers", names[i]), #lines("again", names[i]), #lines("warnings", names[i])))
  end
  local found, doubled = count(store)
  print(("%d of %d messages are in the histories, %d twice"):format(found, EACH * THREADS, doubled))
  if redis then redis:cancel() end
end

local provider <close> = assert(koine.testing.start { script = "echo" })
local ok, err = pcall(koine.run, cluster, provider)
koine.process.run { "rm", "-rf", SCRATCH }
assert(ok, err)
