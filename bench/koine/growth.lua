-- growth.lua WHAT LABEL - SIZE N …: what must not grow faster than its size: an agent's step after SIZE steps, a wait
-- for a rate limiter with SIZE requests in its log.
local koine = require "koine"
local core = require "koine.core"
local kit = require "bench.koine.kit"

local programs = {}

-- When the calls of the model of a run of n steps began, each with a call of a tool; the adapter has no network. n + 1
-- times, CPU seconds.
local function run_steps(n)
  local times = {}
  local adapter = koine.custom_adapter { name = "bench", options = { model = "bench-1" }, open = function(_, _, opts)
    times[#times + 1] = os.clock()
    local answer = { content = "done", model = opts.model, stop_reason = "end_turn" }
    if #times <= n then
      answer = { model = opts.model, stop_reason = "tool_use", content = {
        { type = "text", text = "Let me look that up." },
        { type = "tool_use", id = "call_" .. #times, name = "weather", arguments = { city = "Paris" },
          arguments_json = '{"city":"Paris"}' } } }
    end
    return { next = function() end, response = function() return answer end }
  end }
  local weather = { name = "weather", description = "The weather.", run = function() return "18 degrees, rain" end,
    parameters = { type = "object", properties = { city = { type = "string" } }, required = { "city" } } }
  local agent = koine.agent { adapter = adapter, tools = { weather }, stop = koine.agent.steps(n + 2) }
  assert(assert(agent:run "What is the weather in Paris?").text == "done")
  return times
end

-- CPU of a step (a call of the model and one of a tool) that has `size` steps before it: the mean of n steps from there
-- on, of so many runs.
function programs.step(label, _, size, n, runs)
  run_steps(10)
  local spent = 0
  for _ = 1, runs do
    local times = run_steps(size + n)
    spent = spent + times[size + n] - times[size]
  end
  kit.report(label, "", spent * 1e6 / n / runs, "us/step")
end

-- CPU of a wait that lets its request go at once, with `size` requests in the log.
function programs.wait(label, _, size, n)
  local path, log, now = os.tmpname(), {}, core.wall()
  for i = 1, size do log[i] = ("%.4f"):format(now - size + i - 1) end
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(('{"last_request_at":%s,"request_log":[%s]}'):format(log[#log], table.concat(log, ","))))
  assert(file:flush())
  local limiter = koine.rate_limiter { rate_limit_path = path, rate_limit = { requests = 1000000, period = 86400 } }
  assert(limiter:wait())
  local before = os.clock()
  for _ = 1, n do assert(limiter:wait()) end
  kit.report(label, "", (os.clock() - before) * 1e6 / n, "us/wait")
  os.remove(path)
end

kit.main(programs)
