--- A place where tasks meet: wait() parks until open() was called.

local wait = require "koine.task.wait"

return function()
  local self = { opened = false }
  function self.wait()
    while not self.opened do wait.park(self) end
  end
  function self.open()
    self.opened = true
    wait.wake(self)
  end
  return self
end
