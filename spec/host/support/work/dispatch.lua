--- Turns of a dispatcher.

local kit = require "work.kit"
local koine = require "koine"

local same, options, patient, TEXT = kit.same, kit.options, kit.patient, kit.TEXT

local THREADS = { { platform = "chat", thread_id = "T1" }, { platform = "chat", thread_id = "T2" } }

local turns = {}

-- A message of each of two people in each of two threads. `drive(d)` steps the dispatcher until nothing is left to do.
local function dispatcher_turn(drive)
  local messages, taken, answered, failed = {}, {}, {}, {} -- noting one takes no memory
  for i = 1, 4 do
    messages[i] = { prompt = "Hi", number = i, sender_json = "{}", sender_id = i < 3 and "ann" or "bob" }
    taken[i], answered[i], failed[i] = 0, 0, 0
  end
  local agent = koine.agent { adapter = koine.anthropic(options "text") }
  local target = koine.dispatcher.agents(function() return agent end)
  local warnings, dispatched, cancelled, known = 0, 0, 0, 0
  local d = koine.dispatcher { mode = "per-lane", target = target,
    on_done = function(message, _, result)
      same(result.text, TEXT)
      answered[message.number] = answered[message.number] + 1
    end,
    on_error = function(message) failed[message.number] = failed[message.number] + 1 end,
    on_warning = function() warnings = warnings + 1 end,
    on_dispatch = function(record)
      dispatched = dispatched + 1
      if record.outcome == "cancelled" then cancelled = cancelled + 1 end -- by the end of its run, without a warning
    end }

  local function submit_all()
    for i, message in ipairs(messages) do
      local ok, why = d:submit(THREADS[i % 2 + 1], message)
      if not ok then error("wrong answer: " .. why) end
      taken[i] = taken[i] + 1
    end
  end

  -- Raises unless each message that was taken came to one end, and each call of a hook was made or is counted as
  -- failed: a hook may be what runs out of memory. Returns how many turns failed.
  local function check_ends()
    local stats, ends, errors, missing = d:stats(), 0, 0, 0
    for _, name in ipairs { "queued", "parked", "turns", "hooks" } do
      if stats[name] ~= 0 then error(("wrong answer: %d %s left"):format(stats[name], name)) end
    end
    for i = 1, 4 do
      local ended = answered[i] + failed[i]
      if ended > taken[i] then error "wrong answer: a message that ended twice" end
      ends, errors, missing = ends + taken[i], errors + failed[i], missing + taken[i] - ended
    end
    local lost = missing + ends - dispatched + math.abs(errors - cancelled - warnings)
    if lost > stats.hook_errors - known then error(("wrong answer: %d calls of hooks were lost"):format(lost)) end
    return errors + missing
  end

  local function go()
    submit_all()
    drive(d)
    if check_ends() > 0 then return nil, "not enough memory: a turn failed" end
    return true
  end

  return go, function()
    patient(drive, d)
    check_ends()
    for key, session in pairs(target.sessions) do
      if not key:find "^chat:T%d$" then error("wrong answer: " .. key) end
      same(#session.messages % 2, 0)
    end
    warnings, dispatched, cancelled, known = 0, 0, 0, d:stats().hook_errors
    for i = 1, 4 do taken[i], answered[i], failed[i] = 0, 0, 0 end
    return go()
  end
end

-- In a run: two threads, in each of which a turn is under way, two messages wait in the lane, and two submitters for
-- room there. `stop(d, extra)` ends that; without the text of `extra` no message can be packed. It returns how many
-- messages it dropped from lanes, nil where that cannot be told. Each submitter is told, each message comes to one end.
local function stopped_turn(stop)
  local run, sleep, spawn, dispatcher = koine.run, koine.sleep, koine.spawn, koine.dispatcher -- loaded: turns.loading
  local function go()
    local told, taken, dispatched, buried, extra, d = 0, 0, 0, 0, { type = "text", text = "Hi" }, nil
    local function submit(i)
      local ok, why = d:submit(THREADS[i % 2 + 1], { prompt = "Hi", sender_json = "{}", extras = { extra } })
      if ok or why == "consumer_dead" then taken = taken + 1 end -- of such a message a hook tells, too
      told = told + 1
    end
    d = dispatcher { mode = "per-thread", max_buffered_messages = 2,
      on_dispatch = function(record) dispatched = dispatched + record.events_per_dispatch end,
      on_error = function(_, _, err) if err.message:find "consumer" then buried = buried + 1 end end,
      target = { run_turn = function(_, _, _, ctx)
        while extra.text and not ctx.cancelled() do sleep(0) end
        return "answer"
      end } }
    run(function()
      for i = 1, 2 do submit(i) end
      d:step()
      for i = 1, 4 do submit(i) end
      for i = 1, 4 do spawn(submit, i) end
      sleep(0)
      local dropped = stop(d, extra)
      for _ = 1, 8 do
        patient(d.step, d)
        sleep(0)
      end
      local stats = d:stats()
      if stats.hook_errors > 0 then error "not enough memory for a hook" end
      same(stats.queued + stats.parked + stats.turns + stats.hooks, 0)
      same(told, 10)
      if dropped then same(dispatched + buried + dropped, taken) end
    end)
    return true
  end
  return go, go
end

-- The first use of the dispatcher loads its modules.
function turns.loading()
  assert(koine.run) -- loaded before, as in the turns below
  local function go() return koine.dispatcher ~= nil end
  return go, function()
    local d = koine.dispatcher { mode = "per-thread", target = { run_turn = function() return "answer" end } }
    return go() and d:submit(THREADS[1], { prompt = "Hi", sender_json = "{}" }) and d:step() and #d:shutdown() == 0
  end
end

-- It reports every lane, also those before memory ended.
function turns.shutdown()
  return stopped_turn(function(d)
    local dropped = 0
    for _, warning in ipairs(patient(d.shutdown, d)) do dropped = dropped + warning.buffered_lost end
    same(#d:shutdown(), 0)
    return dropped
  end)
end

function turns.cancelled()
  return stopped_turn(function(d)
    for _, thread in ipairs(THREADS) do patient(d.cancel_all, d, thread) end
  end)
end

-- The lanes' own code fails twice.
function turns.deaths()
  return stopped_turn(function(_, extra)
    extra.text = nil
    return 0
  end)
end

-- In plain Lua, turns that step and submit themselves.
function turns.nested()
  local taken, more, d = 0, 0, nil
  local function submit(number)
    local ok, why = d:submit({ platform = "chat", thread_id = "T" .. number }, { prompt = "Hi", sender_json = "{}" })
    if not ok then error("wrong answer: " .. why) end
    taken = taken + 1
  end
  d = koine.dispatcher { mode = "per-thread", on_queued = function() d:step() end, target = { run_turn = function()
    local number = more
    if number == 0 then return "answer" end
    more = number - 1
    d:step()
    submit(number)
    return "answer"
  end } }

  local function drive()
    while d:step() do end -- luacheck: ignore
  end

  -- Each message that was taken had its turn, which failed where memory was short within.
  local function check_ends()
    local stats = d:stats()
    same(stats.queued + stats.turns + stats.hooks, 0)
    same(stats.dispatches, taken)
  end

  local function go()
    more = 2
    submit(3)
    submit(4)
    drive()
    check_ends()
    return true
  end
  return go, function()
    patient(drive)
    check_ends()
    return go()
  end
end

-- In plain Lua: turns are coroutines of the dispatcher's own.
function turns.stepped()
  return dispatcher_turn(function(d)
    while d:step() do end -- luacheck: ignore
  end)
end

-- In a run: they are tasks.
function turns.tasks()
  local run, sleep = koine.run, koine.sleep
  return dispatcher_turn(function(d)
    run(function()
      repeat
        local more = d:step()
        sleep(more and 0 or 0.001)
        local stats = d:stats()
      until not more and stats.turns + stats.hooks + stats.queued == 0
    end)
  end)
end

return turns
