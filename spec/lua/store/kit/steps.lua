-- One operation after the other on a store in files, for a process that is killed, or whose system calls fail:
-- lua steps.lua DIRECTORY. Prints the number of each operation that returned.

local koine = require "koine"

local store = assert(koine.store.file { dir = arg[1] })

local STEPS = {
  function() return store:put("k", "one") end,
  function() return store:put("k", "two") end,
  function() return store:put("j", "x") end,
  function() return store:delete "j" end,
  function() return store:lease("l", "me", 50) end,
  function() return store:push("q", "a", { id = "m" }) end,
  function() return store:push("q", "b") end,
  function() return store:claim("me", 0.01) end,
  function() return store:ack("q", "me", 1, 1) end,
  function() return store:unclaim("q", "me", 1) end,
  function() return store:take("b", 1, { capacity = 9, per = 1 }) end,
}

for i, step in ipairs(STEPS) do
  local done, err = step()
  if not done then error(err) end
  io.stdout:write(i, "\n"):flush()
end
