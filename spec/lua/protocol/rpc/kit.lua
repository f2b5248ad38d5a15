--- Helpers of the specs of peers: wires within this process, two peers on one, a wire that a spec feeds, and the hosts.

local core = require "koine.core"
local peers = require "spec.lua.net.peers"
local rpc = require "koine.protocol.rpc"
local wait = require "koine.task.wait"

local kit = {}

-- One direction: an array of lines that waits for its reader, of at most `max` lines.
local function pipe(max)
  return { lines = {}, max = max, ended = false }
end

local function put(self, line)
  self.lines[#self.lines + 1] = line
  wait.wake(self)
  while #self.lines > self.max do
    local _, err = wait.park(self)
    if err then return nil, err end
  end
  return true
end

local function take(self)
  while #self.lines == 0 do
    if self.ended then return nil, self.err end
    local _, err = wait.park(self)
    if err then return nil, err end
  end
  wait.wake(self)
  return table.remove(self.lines, 1)
end

local function wire(input, output)
  return {
    line = function() return take(input) end,
    write = function(_, bytes) return put(output, (bytes:gsub("\n$", ""))) end,
  }
end

--- Two wires, each the other end of the other; `max` lines wait for a reader. close() ends both directions.
function kit.wires(max)
  local there, back = pipe(max or 100), pipe(max or 100)
  local function close()
    there.ended, back.ended = true, true
    wait.wake(there)
    wait.wake(back)
  end
  return wire(back, there), wire(there, back), close
end

--- A peer, and the other end of its wire in the spec's hands: say(value or text), heard() → the values that the peer
-- wrote and were not heard yet, finish(err).
function kit.alone(opts, max)
  local input, output = pipe(math.huge), pipe(max or math.huge)
  local peer = rpc.new(wire(input, output), opts)
  local far = { output = output, input = input }
  function far.say(value)
    input.lines[#input.lines + 1] = type(value) == "string" and value or core.encode(value)
    wait.wake(input)
  end
  function far.raw() return table.remove(output.lines, 1) end
  function far.heard()
    local list = {}
    for i, line in ipairs(output.lines) do list[i] = core.decode(line) end
    output.lines = {}
    wait.wake(output)
    return list
  end
  function far.finish(err)
    input.ended, input.err = true, err
    wait.wake(input)
  end
  return peer, far
end

--- Ways to run functions at once, by name: tasks of koine.run, and coroutines of each host.
kit.loops = peers.loops()

--- The same, and plain Lua, where one function runs after the other.
kit.all = { plain = function(...)
  for _, f in ipairs { ... } do f() end
end }
for name, loop in pairs(kit.loops) do kit.all[name] = loop end

--- The ArgumentError for that field that f raises; fails when it raises none.
kit.raises = require("spec.lua.system.process_kit").raises

--- Seconds that nothing here takes, whatever the machine.
kit.SAFETY = 60

return kit
