-- Runs processes that use a store at random at the same time, and judges what they logged.

local judge = require "spec.lua.store.kit.judge"
local koine = require "koine"

local processes = {}

local COUNT = 8
local OPERATIONS = 25 -- of each process, per seed
local LONGEST = 0.3   -- seconds: longer than any ttl of theirs

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- Starts a process: its standard output and errors to read.
local function start(options, log, number, go, killed)
  local paths = ("package.path, package.cpath = %q, %q "):format(package.path, package.cpath)
  return assert(io.popen(("exec %s -e %s spec/lua/store/kit/worker.lua %s %s %d %s %s %d %s 2>&1"):format(
    os.getenv "KOINE_LUA" or "lua5.4", quoted(paths), quoted(options.code), quoted(log), number, quoted(go),
    quoted(table.concat(options.seeds, " ")), options.operations or OPERATIONS, killed or ""), "r"))
end

-- Adds the records of a log; the last line of a process that was killed may be cut.
local function read(log, records)
  for line in io.lines(log) do
    local record = load("return " .. line, "=log", "t", {})
    if record then records[#records + 1] = record() end
  end
end

-- What is left in the queues of a seed: {queue → array of {seq, item, tries}}.
local function drain(store, seed)
  local left = {}
  while true do
    local queue, fence, items = store:claim("drain", 60, { queues = ("s%d:"):format(seed) })
    assert(queue or not fence, fence)
    if not queue then return left end
    left[queue] = left[queue] or {}
    for _, item in ipairs(items) do table.insert(left[queue], { item.seq, item.item, item.tries }) end
    assert(store:ack(queue, "drain", fence, items[#items].seq))
    assert(store:unclaim(queue, "drain", fence))
  end
end

--- Runs the processes on the store that `code` (Lua that returns one) opens: {code, folder = for logs, seeds = array of
-- integers, operations = of each process per seed, killed = how many processes are killed on their way, during =
-- function() called while they run}. Returns the records.
function processes.run(options)
  local go, handles, records = options.folder .. "/go", {}, {}
  for number = 1, COUNT do
    local killed = number <= (options.killed or 0) and 10 + 17 * number or nil
    handles[number] = start(options, options.folder .. "/log" .. number, number, go, killed)
  end
  assert(io.open(go, "w")):close()
  if options.during then options.during() end
  for number, handle in ipairs(handles) do
    local said = handle:read "a"
    local ended = handle:close()
    local is_killed = number <= (options.killed or 0)
    assert(is_killed or ended and said == "", ("process %d: %s"):format(number, said))
    read(options.folder .. "/log" .. number, records)
  end
  records.killed = (options.killed or 0) > 0
  return records
end

--- The problems of what they did: an array of strings, empty where the store kept its promises and they did enough to
-- tell. Most operations that were chosen are done, but those of a process that was killed.
function processes.problems(options, records)
  local alive = COUNT - (options.killed or 0)
  local enough = alive * (options.operations or OPERATIONS) * #options.seeds // 2
  if #records < enough then return { ("%d records; %d would be enough"):format(#records, enough) } end
  koine.sleep(LONGEST)
  local store <close> = assert(load(options.code))()
  local left = {}
  for _, seed in ipairs(options.seeds) do
    for queue, items in pairs(drain(store, seed)) do left[queue] = items end
  end
  return judge.problems(records, function(key) return (store:get(key)) end, function(key) return left[key] or {} end)
end

--- The integers from 1 to what the environment variable KOINE_ENGINE_SEEDS says, or to `few`.
function processes.seeds(few)
  local seeds = {}
  for seed = 1, tonumber(os.getenv "KOINE_ENGINE_SEEDS") or few do seeds[seed] = seed end
  return seeds
end

return processes
