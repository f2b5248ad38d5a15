--- The event loops of other programs: name of the host → function that runs the functions at once, as coroutines of
-- that loop, until it ends by itself.

local cqueues = require "cqueues"
local koine = require "koine"
local uv = require "luv"

local loops = {}

function loops.cqueues(...)
  local controller = cqueues.new()
  for _, f in ipairs { ... } do controller:wrap(f) end
  assert(controller:loop())
end

function loops.luv(...)
  for _, f in ipairs { ... } do coroutine.wrap(f)() end
  uv.run()
end

function loops.poll(...)
  for _, f in ipairs { ... } do koine.hosts.poll.spawn(f) end
  koine.hosts.poll.run()
end

return loops
