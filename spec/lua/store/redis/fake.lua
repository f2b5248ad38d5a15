--- A server that answers as a spec says, in the same process: it hears commands, and judges nothing.

local koine = require "koine"
local peers = require "spec.lua.net.peers"
local resp = require "koine.store.redis.resp"
local wait = require "koine.task.wait"

local fake = {}

local HASH = ("0"):rep(40)

-- Serves one connection until it ends: `answer` gets a command (an array) and returns bytes, or nil, which ends it.
-- What comes after that is read: else the system would reset the connection, and what was answered might be lost.
local function serve(log, peer, number, answer)
  local reader, ended = resp.reader(), false
  peer:settimeout(0)
  while true do
    local bytes, err, part = peer:receive(65536)
    reader:feed(bytes or part)
    for command in reader.next, not ended and reader or resp.reader() do
      command.connection = number
      log[#log + 1] = command
      local reply = answer(command, #log)
      if not reply then
        peer:shutdown "send"
        ended = true
        break
      end
      peer:send(reply)
    end
    if err == "closed" then return peer:close() end
    wait.park({}, 0.0005)
  end
end

--- The reply to what a store sends before it is asked for anything; nil for other commands.
function fake.usual(command)
  if command[1] == "SCRIPT" then return ("$40\r\n%s\r\n"):format(HASH) end
  if command[1] == "AUTH" or command[1] == "SELECT" then return "+OK\r\n" end
end

--- Runs f(store, log) as a task beside a server that answers by `answer(command, n)`, fake.usual where that returns
-- false. `options` go over the store's usual ones. Returns the log: the commands that it heard.
function fake.run(answer, f, options)
  local listener, log = peers.listen(), {}
  local all = { url = "redis://127.0.0.1:" .. listener.port, timeout = 2 }
  for name, value in pairs(options or {}) do
    all[name] = type(value) == "string" and value:gsub("PORT", listener.port) or value
  end
  koine.run(function()
    local store <close> = koine.store.redis(all)
    local server = koine.spawn(function()
      local number = 0
      while true do
        while not listener.is_waiting() do wait.park({}, 0.0005) end
        number = number + 1
        local peer, mine = listener.accept(), number
        koine.spawn(function()
          serve(log, peer, mine, function(command, n)
            local reply = answer(command, n)
            if reply == false then reply = fake.usual(command) end
            return reply
          end)
        end)
      end
    end)
    f(store, log)
    server:cancel()
  end)
  listener.close()
  return log
end

--- The scripts among the commands: their arguments behind the prefix.
function fake.scripts(log)
  local list = {}
  for _, command in ipairs(log) do
    if command[1] == "EVALSHA" then list[#list + 1] = table.move(command, 5, #command, 1, {}) end
  end
  return list
end

return fake
