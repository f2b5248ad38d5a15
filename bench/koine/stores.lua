-- stores.lua: what stores cost, each engine there is: `take` of a rate limit; `claim` of a queue, with the unclaim that
-- gives it back; `checkpoint`, a put of 10 KB with version and fence; a turn of koine.dispatcher.shared from submit to
-- its end. And a turn with 100 threads and with 10,000, in memory and without Lua's collector, which would have to mark
-- what the engine holds. Prints `name value unit`. Times are the clock's, but CPU for the memory engine. Redis and
-- PostgreSQL run over UNIX sockets, with their own defaults; SQLite and PostgreSQL by LuaSQL. An engine that is not
-- installed is left out, and named on standard error.
local koine = require "koine"
local wait = require "koine.task.wait"

local FEW, MANY = 100, 10000 -- threads
local SCRATCH = os.tmpname()
os.remove(SCRATCH)
assert(koine.process.run { "mkdir", "-m", "711", SCRATCH }) -- PostgreSQL may run as another user

local function report(name, value, unit) print(("store_%s %.4g %s"):format(name, value, unit)) end

-- Microseconds of a call of f, of n calls.
local function time(clock, n, f)
  f(0)
  local before = clock()
  for i = 1, n do f(i) end
  return (clock() - before) * 1e6 / n
end

-- Microseconds of a turn, one in each of n threads, all of them handed in first.
local function turns(clock, store, n)
  local left, d = n, nil
  d = koine.dispatcher.shared { store = store, prefix = "bench" .. n .. ":", target = { run_turn = function()
    left = left - 1
    if left == 0 then koine.spawn(d.shutdown, d, 60) end
    return true
  end } }
  collectgarbage()
  local before = clock()
  local message = { sender_json = "{}", prompt = "Hello" }
  for i = 1, n do assert(d:submit({ platform = "p", thread_id = "T" .. i }, message)) end
  d:run()
  return (clock() - before) * 1e6 / n
end

local function measure(name, store, clock, n)
  local bucket = { capacity = 1e9, per = 1e9 }
  report(name .. "_take_us", time(clock, n, function() assert(store:take("bench", 1, bucket)) end), "us")
  for i = 1, 100 do assert(store:push("bench" .. i, "item")) end
  report(name .. "_claim_us", time(clock, n, function()
    local queue, fence = assert(store:claim("bench", 60, { queues = "bench" }))
    assert(store:unclaim(queue, "bench", fence))
  end), "us")
  local fence, dump = assert(store:lease("run", "bench", 600)), ("x"):rep(10240)
  local version = assert(store:put("run", dump))
  report(name .. "_checkpoint_us", time(clock, n, function()
    version = assert(store:put("run", dump, { if_version = version, fence = { "run", fence } }))
  end), "us")
  report(name .. "_turn_us", turns(clock, store, math.min(n, FEW)), "us")
end

local function left_out(name) io.stderr:write(("stores: %s is not installed\n"):format(name)) end

local function memory()
  measure("memory", koine.store.memory {}, os.clock, 20000)
  collectgarbage "stop"
  local few = 0
  for _ = 1, 20 do few = few + turns(os.clock, koine.store.memory {}, FEW) / 20 end
  report("turns_100_threads_us", few, "us")
  report("turns_10000_threads_us", turns(os.clock, koine.store.memory {}, MANY), "us")
  collectgarbage "restart"
end

-- A database of SQLite with the tables of a store: its path.
local function database(driver)
  local path = SCRATCH .. "/database"
  local environment = driver.sqlite3()
  local connection = assert(environment:connect(path))
  for statement in koine.store.schema("sqlite"):gmatch "[^;]+" do
    local cursor = statement:find "%S" and assert(connection:execute(statement))
    if type(cursor) == "userdata" then cursor:close() end
  end
  connection:close()
  environment:close()
  return path
end

local function sqlite()
  local found, driver = pcall(require, "luasql.sqlite3")
  if not found then return left_out "lua-sql-sqlite3" end
  local store <close> = koine.store.sql { dialect = "sqlite", connect = database(driver), blocking = true }
  measure("sqlite", store, wait.now, 200)
end

local function shell(command) return koine.process.run { "sh", "-c", command } end

local function redis()
  if shell("command -v redis-server").code ~= 0 then return left_out "redis-server" end
  local socket = SCRATCH .. "/redis.sock"
  local argv = { "redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", SCRATCH }
  local server <close> = koine.spawn(koine.process.run, argv, { grace = 0 }) -- luacheck: ignore server
  local store <close> = koine.store.redis { url = "unix://" .. socket }
  while not store:describe() do koine.sleep(0.02) end
  measure("redis", store, wait.now, 2000)
end

-- A server of PostgreSQL as a task, which ends with it, and the text that connects to it. Nothing: it is not installed.
local function postgres_server()
  -- Debian has its programs outside of PATH; it does not run as root.
  local initdb = shell("ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null || command -v initdb").stdout
  local bin = initdb:match "([^\n]*)/initdb\n$"
  if not bin then return nil end
  local as = shell("id -u").stdout == "0\n" and "setpriv --reuid=nobody --regid=nogroup --clear-groups -- " or ""
  local folder = SCRATCH .. "/postgres"
  local made = shell(("mkdir -m 777 %s && cd %s && %s%s/initdb -D data -U koine -A trust -E UTF8 --locale=C"):format(
    folder, folder, as, bin))
  assert(made.code == 0, made.stderr)
  local argv = { "sh", "-c", ("exec %s%s/postgres -D %s/data -k %s -c listen_addresses="):format(as, bin, folder,
    folder) }
  return koine.spawn(koine.process.run, argv, { grace = 0 }), ("host=%s dbname=postgres user=koine"):format(folder)
end

local function postgres()
  local found, driver = pcall(require, "luasql.postgres")
  if not found then return left_out "lua-sql-postgres" end
  local server <close>, source = postgres_server() -- luacheck: ignore server
  if not server then return left_out "PostgreSQL" end
  local environment = driver.postgres()
  local connection
  repeat
    koine.sleep(0.02)
    connection = environment:connect(source)
  until connection
  assert(connection:execute(koine.store.schema "postgres"))
  connection:close()
  environment:close()
  local store <close> = koine.store.sql { dialect = "postgres", connect = source, blocking = true }
  measure("postgres", store, wait.now, 200)
end

local function bench()
  memory()
  measure("file", assert(koine.store.file { dir = SCRATCH .. "/store" }), wait.now, 200)
  sqlite()
  redis()
  postgres()
end

local ok, err = pcall(koine.run, bench)
koine.process.run { "rm", "-rf", SCRATCH }
assert(ok, err)
