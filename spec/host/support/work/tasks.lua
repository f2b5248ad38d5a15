--- Turns of tasks.

local kit = require "work.kit"
local koine = require "koine"

local in_coroutine, options, patient, same, TEXT = kit.in_coroutine, kit.options, kit.patient, kit.same, kit.TEXT

local turns = {}

-- The work of tasks, as functions to be called in a run.
local pieces = {
  function()
    local a, b = koine.gather(function()
      koine.sleep(0)
      return 1
    end, function()
      koine.sleep(0.0001)
      return 2
    end)
    same(a, 1)
    same(b, 2)
  end,
  function()
    local nothing, err = koine.timeout(0.0001, function() koine.sleep(60) end)
    same(nothing, nil)
    same(err.kind, "timeout")
    same(koine.timeout(60, function() return koine.sleep(0) end), true)
  end,
  function()
    local task <close> = koine.spawn(function() koine.sleep(60) end)
    koine.sleep(0)
    same(task:cancel(), true)
    local _, err = task:wait()
    same(err.kind, "cancelled")
  end,
  function()
    local mailbox, heard = {}, 0
    local function hear()
      while not mailbox.letter do koine.park(mailbox) end
      heard = heard + 1
    end
    koine.gather(hear, hear, hear, function()
      koine.sleep(0)
      mailbox.letter = true
      koine.wake(mailbox)
    end)
    same(heard, 3)
  end,
  function() same(koine.run(function(n) return n + 1 end, 1), 2) end,
}

local function load_tasks()
  return koine.run, koine.gather, koine.timeout, koine.spawn, koine.sleep, koine.park, koine.wake
end

function turns.tasks()
  load_tasks()
  local function go()
    return koine.run(function()
      local n = 0
      local task = koine.spawn(function()
        for _ = 1, 5 do
          koine.sleep(0)
          n = n + 1
        end
        return n
      end)
      for _, piece in ipairs(pieces) do piece() end
      same(task:wait(), 5)
      return true
    end)
  end
  return go, go
end

-- Tasks that are woken from a coroutine without room for calls: where memory ends in that, no task is lost.
function turns.woken()
  load_tasks()
  local function go()
    return koine.run(function()
      local token, woken = {}, 0
      local function hear()
        koine.park(token)
        woken = woken + 1
      end
      for _ = 1, 3 do koine.spawn(hear) end
      local inner = koine.spawn(koine.run, hear)
      koine.sleep(0)
      koine.sleep(0)
      patient(in_coroutine, koine.wake, token)
      koine.sleep(0)
      koine.sleep(0)
      same(woken, 4)
      same(inner.done, true)
      return true
    end)
  end
  return go, go
end

-- Tasks whose parent catches what they raise: the run goes on.
function turns.patient_tasks()
  load_tasks()
  local function go()
    return koine.run(function()
      for _, piece in ipairs(pieces) do patient(piece) end
      return true
    end)
  end
  return go, go
end

-- A value that several coroutines need at once, and one fetches.
function turns.flight()
  local flight, slot = require "koine.task.single_flight", {}
  local function go()
    same(flight(slot, function() return TEXT end, 60), TEXT)
    return true
  end
  return go, function()
    same(slot.flight, nil)
    return go()
  end
end

-- Two calls at once.
function turns.gathered()
  load_tasks()
  local claude, other = koine.anthropic(options "text"), koine.compatible(options "text")
  local function ask(adapter)
    return function() return assert(adapter:chat "Hi"):text() end
  end
  local function go()
    local a, b = koine.gather(ask(claude), ask(other))
    same(a, TEXT)
    same(b, TEXT)
    return true
  end
  return go, go
end

return turns
