-- closing.lua URL: a script that ends while bodies are held. Finalizers poll their requests and read them meanwhile,
-- some before the bodies' own and some after them. Leaks, and reads of what was freed, are for a sanitizer to see.

local core = require "koine.core"

local requests = {}

local function read_all()
  for _, request in ipairs(requests) do
    local ok, answer = pcall(request.poll, request)
    if ok and answer then pcall(tostring, answer.body) end
  end
end

local function at_end() return setmetatable({}, { __gc = read_all }) end

local function start()
  local call = { method = "POST", url = arg[1], body = "text", hold_body = true }
  requests[#requests + 1] = assert(core.request(core.engine(), call))
  return requests[#requests]
end

local last = at_end() -- finalizers run in the order opposite to that of making
local filled = start()
while filled:poll() == false do core.engine():step(60) end
local complete = start()
repeat local over = core.engine():step(60)[1] until over == complete
start() -- still in flight
_G.kept = { last, filled:poll().body, at_end() }
