-- WAY URL: waits in one of several ways at the provider at the URL, which is silent, until a signal comes. Says "ready"
-- when it is about to wait, and tells what was closed.

local koine = require "koine"

local way, url = ...
local claude = koine.anthropic { model = "m", base_url = url, key = "test-key-1", retry = false }
local streams = {}

io.stdout:setvbuf "line"

-- Says when it is closed.
local function watch(name)
  return setmetatable({}, { __close = function() print("closed " .. name) end })
end

-- Says in the end what became of the streams.
local function watch_streams()
  return setmetatable({}, { __close = function()
    for _, stream in ipairs(streams) do print(stream) end
  end })
end

-- Five tasks, each past the first delta of a stream that goes no further, and one that sleeps.
local function run_five()
  local started = 0
  koine.run(function()
    for i = 1, 5 do
      koine.spawn(function()
        local _ <close> = watch("task " .. i)
        local stream <close> = assert(claude:open "Hi")
        streams[i] = stream
        assert(stream:next())
        started = started + 1
        if started == 5 then print "ready" end
        while stream:next() do end
      end)
    end
    local _ <close> = watch "the sleeper"
    koine.sleep(1000)
  end)
end

local ways = {}

function ways.chat()
  local _ <close> = watch "chat"
  print "ready"
  return claude:chat "Hi"
end

function ways.sleep()
  local _ <close> = watch "sleep"
  print "ready"
  return koine.sleep(1000)
end

function ways.run()
  local _ <close> = watch_streams()
  run_five()
end

-- A program that goes on afterwards. (Lua takes one Ctrl-C; the next one would end it.)
function ways.caught()
  print(pcall(run_five))
  for _, stream in ipairs(streams) do print(stream) end
  print(assert(claude:chat "Hi"):text())
  print(koine.run(function()
    local a, b = koine.gather(function() return claude:chat "Hi" end, function() return claude:chat "Hi" end)
    return a:text(), b:text()
  end))
  print(pcall(koine.spawn, print))
end

ways[way]()
