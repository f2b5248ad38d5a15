-- worker.lua STORE LOG NAME SEED TTL: one process of processes_spec.lua, with a dispatcher on the file engine in the
-- directory STORE, or on the Redis server of that URL, with keys that begin with the name of LOG's folder. Each turn
-- writes into LOG when it begins ("B name key fence seconds"), when it returns ("E name key fence") and when the store
-- has its end ("D name key fence").

local generator = require "spec.support.generator"
local koine = require "koine"
local wait = require "koine.task.wait"

local where, path, name, seed, ttl = table.unpack(arg)
local random = generator(tonumber(seed))
local log = assert(io.open(path, "a"))
log:setvbuf "line"

local store = assert(where:find "^unix:" and koine.store.redis { url = where, prefix = path:match "([^/]+)/[^/]*$" }
  or koine.store.file { dir = where })
local d
d = koine.dispatcher.shared { store = store, owner = name, mode = "per-lane", ttl = tonumber(ttl), max_tries = 1000,
  max_buffered_messages = 3, max_threads = 3,
  target = { run_turn = function(_, key, _, ctx)
    log:write(("B %s %s %d %.6f\n"):format(name, key, ctx.lease.fence, wait.now()))
    koine.sleep(random(20) / 1000)
    local kept = ctx.history or ""
    for _, message in ipairs(ctx.messages) do kept = kept .. message.prompt .. " " end
    ctx.keep(kept)
    log:write(("E %s %s %d\n"):format(name, key, ctx.lease.fence))
    return { fence = ctx.lease.fence, key = key }
  end },
  on_done = function(_, _, result) log:write(("D %s %s %d\n"):format(name, result.key, result.fence)) end }
d:run()
