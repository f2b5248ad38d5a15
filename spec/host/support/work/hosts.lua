--- Turns within the loops of others: the host poll.

local kit = require "work.kit"
local koine = require "koine"

local in_coroutine, options, patient, same, tells, TEXT = kit.in_coroutine, kit.options, kit.patient, kit.same,
  kit.tells, kit.TEXT

local turns = {}

-- Two coroutines that wait for an answer, one that sleeps, and one that waits for it. A wait that was cut short by a
-- lack of memory has ended, the others go on.
function turns.poll()
  package.loaded.socket = require "socket.core" -- of which poll uses select; the rest is in Lua, beyond our searchers
  local poll = koine.hosts.poll
  local sleep, park, wake = koine.sleep, koine.park, koine.wake
  local adapters = { koine.anthropic(options "text"), koine.compatible(options "text") }
  local ended, letter = { false, false, false, false }, { sent = false }

  local function body(i)
    if i <= 2 then
      local r, err = adapters[i]:chat "Hi"
      if not r then error(err) end
      same(r:text(), TEXT)
    elseif i == 3 then
      sleep(0.0005)
      letter.sent = true
      patient(in_coroutine, wake, letter)
    else
      while not letter.sent do park(letter) end
    end
    ended[i] = true
  end

  local function go()
    poll.install()
    letter.sent = false
    for i = 1, 4 do
      ended[i] = false
      poll.spawn(body, i)
    end
    poll.run()
    for i = 1, 4 do same(ended[i], true) end
    poll.uninstall()
    return true
  end

  -- Runs what is left; every coroutine may raise once.
  local function finish()
    for left = 4, 0, -1 do
      local ok, err = pcall(poll.run)
      if ok then return end
      if left == 0 or not tells(tostring(err)) and err.kind ~= "limit" and err.kind ~= "connect" then error(err, 0) end
    end
  end

  return go, function()
    letter.sent = true -- the third may have been cut short
    poll.install()
    wake(letter)
    finish()
    poll.uninstall() -- raises where one waits, or seems to
    return go()
  end
end

return turns
