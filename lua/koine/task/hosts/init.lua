--- Koine in other people's event loops: `koine.hosts.NAME`, loaded on first use. Every host has
--   install()    from now on a wait inside a coroutine of that loop lets the loop go on
--   uninstall()  back to plain Lua; luv and poll raise an ArgumentError while a coroutine waits
-- One host at a time: to install another one over it is an ArgumentError, to install it again does nothing. Where
-- the caller cannot yield (outside of coroutines, in a callback of C) Koine blocks.
-- For any other loop: wait.lua's set_host, pump and engine.

local NAMES = {
  cqueues = true, -- coroutines of a controller; needs cqueues
  luv = true,     -- coroutines under libuv's loop; needs luv
  poll = true,    -- a loop of its own on select, beside descriptors of the program; needs luasocket
}

return setmetatable({}, { __index = function(hosts, name)
  if not NAMES[name] then return nil end
  hosts[name] = require("koine.task.hosts." .. name)
  return hosts[name]
end })
