-- koine.lua WHAT LABEL URL [N]: Koine's half of the benchmark: what the C programs beside it do, from Lua.
-- Prints `LABEL value unit`. CPU is the process's own, user and system.
local what, label, url, n = arg[1], arg[2], arg[3], tonumber(arg[4])
local koine = require "koine"

local function report(suffix, value, unit) print(("%s%s %.4g %s"):format(label, suffix, value, unit)) end

-- Memory in use, MiB.
local function rss()
  for line in io.lines "/proc/self/status" do
    local kib = line:match "^VmRSS:%s*(%d+)"
    if kib then return kib / 1024 end
  end
end

local function adapter(path)
  local make = path:find "openai" and koine.openai or koine.anthropic
  return make { model = "bench-1", key = "bench-key", base_url = url, headers = { ["x-bench"] = path },
    api = path:find "openai" and "chat" or nil, retry = false }
end

local run = {}

-- CPU per event of a stream, from the socket to the body of a Lua loop that looks at each delta.
local function delta(path)
  local a = adapter(("%s?n=%d"):format(path, n))
  local seen, bytes, before = 0, 0, os.clock()
  for d in a:stream "go" do
    if d.type == "text_delta" then
      seen, bytes = seen + 1, bytes + #d.text
    end
  end
  local cpu = os.clock() - before
  assert(seen == n and bytes > 0, "not every event arrived")
  report("", cpu * 1e6 / n, "us/event")
end

function run.delta_anthropic() delta "anthropic-stream" end
function run.delta_openai() delta "openai-stream" end

-- n small chats, one after the other, on one kept-alive connection.
function run.chat()
  local a = adapter "chat"
  assert(a:chat "hello")
  local before = os.clock()
  for _ = 1, n do
    local r = assert(a:chat "hello")
    assert(r.stop_reason == "end_turn")
  end
  report("_us", (os.clock() - before) * 1e6 / n, "us/request")
  report("_rss_mb", rss(), "MiB")
end

-- The body of a request with 200 messages, half of them tool calls and results.
function run.render()
  local history = {}
  for i = 1, 50 do
    local id = "call_" .. i
    local question = "Question " .. i .. ": what is the weather in city " .. i .. "?"
    history[#history + 1] = { role = "user", content = question }
    history[#history + 1] = { role = "assistant", content = {
      { type = "text", text = "Let me look that up." },
      { type = "tool_use", id = id, name = "weather", arguments = { city = "city " .. i, unit = "c" },
        arguments_json = ('{"city":"city %d","unit":"c"}'):format(i) } } }
    history[#history + 1] = { role = "user", content = {
      { type = "tool_result", tool_use_id = id, content = "18 degrees, rain, wind from the west" } } }
    history[#history + 1] = { role = "assistant", content = { { type = "text", text = "It is raining there." } } }
  end
  history[#history] = nil
  local a = adapter "chat"
  local request = { model = "bench-1", stream = false, messages = history, max_tokens = 1024, tools = {
    { name = "weather", description = "The weather.", parameters = { type = "object",
      properties = { city = { type = "string" }, unit = { type = "string" } }, required = { "city" } } } } }
  a:render(request)
  local before = os.clock()
  for _ = 1, n do a:render(request) end
  report("", (os.clock() - before) * 1e6 / n, "us")
end

-- n streams open at once, each past its first delta.
function run.streams()
  local a, open = adapter "idle", {}
  for i = 1, n do open[i] = assert(a:open "hello") end
  for i = 1, n do
    local d
    repeat d = assert(open[i]:next()) until d.type == "text_delta"
  end
  report("", rss(), "MiB")
  for i = 1, n do open[i]:close() end
end

-- The library loaded and libcurl ready.
function run.start()
  assert(koine.anthropic { model = "bench-1" })
  require("koine.core").engine():pollfd()
  report("", os.clock() * 1e3, "ms")
end

run[what]()
