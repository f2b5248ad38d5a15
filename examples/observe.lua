-- observe.lua: an agent whose work is written to a log, added up, and sent to an OpenTelemetry collector, the one at
-- OTEL_EXPORTER_OTLP_ENDPOINT or on this machine. `koine trace trace.jsonl` shows the log.
-- Usage: lua5.4 examples/observe.lua [provider/model] [log]
local koine = require "koine"

local path = arg[2] or "trace.jsonl"
local log <close> = assert(koine.observe.jsonl(path))
local cost = koine.observe.cost { by = { "model" } }
local observers = { log, cost } ---@type koine.Observer[]

local collector <close>, problem = koine.observe.from_env { service = "observe.lua", timeout = 2 }
if problem then print("no collector: " .. problem.message) end
observers[#observers + 1] = collector -- nil where the environment turns it off

local dice = koine.tool {
  name = "dice",
  description = "Throws dice.",
  example = { count = 2 },
  run = function(args)
    local throws = {}
    for i = 1, args.count do throws[i] = math.random(6) end
    return table.concat(throws, " ")
  end,
}

local agent = koine.agent {
  name = "gambler",
  adapter = koine.adapter(arg[1] or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" }),
  tools = { dice },
  observer = koine.observe.fan(observers),
}

print(assert(agent:run "Throw three dice and tell me their sum.").text)
print(cost)
if collector then
  local ok, err = collector:close()
  print(ok and ("[%d spans sent]"):format(collector:counts().sent) or "[not sent: " .. err.message .. "]")
end
print(("[%s: %d records]"):format(path, #assert(koine.observe.read(path))))
