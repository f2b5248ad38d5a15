-- koine.lua WHAT LABEL URL [N [DELTAS]]: Koine's half of the benchmark: what the C programs beside it do, from Lua.
-- Prints `LABEL value unit`. CPU is the process's own, user and system.
local what, label, url, n, deltas = arg[1], arg[2], arg[3], tonumber(arg[4]), tonumber(arg[5])
local koine = require "koine"
local now = require("koine.core").monotonic

local function report(suffix, value, unit) print(("%s%s %.4g %s"):format(label, suffix, value, unit)) end

-- A line of /proc/self/status, MiB.
local function status(name)
  for line in io.lines "/proc/self/status" do
    local kib = line:match("^" .. name .. ":%s*(%d+)")
    if kib then return kib / 1024 end
  end
end

-- Memory in use; the most that ever was.
local function rss() return status "VmRSS" end
local function peak() return status "VmHWM" end

-- By the first word of the path; Anthropic's where none speaks of a format.
local MAKERS = { openai = koine.openai, gemini = koine.gemini, ollama = koine.ollama }

local function adapter(path)
  local format = path:match "^%l+"
  return (MAKERS[format] or koine.anthropic) { model = "bench-1", key = "bench-key", base_url = url,
    headers = { ["x-bench"] = path }, api = format == "openai" and "chat" or nil, retry = false }
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
function run.delta_gemini() delta "gemini-stream" end
function run.delta_ollama() delta "ollama-stream" end

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

-- Values of n bytes of JSON that grow by 4 bytes at a time: one long string; many small elements.
function run.growing()
  local core = require "koine.core"
  local shapes = {
    string = { '{"a":"', "plain text of a string ", '"}' },
    elements = { "[0", ',{"name":"number one","price":12.5,"tags":["a","b"],"on":true}', "]" },
  }
  for name, shape in pairs(shapes) do
    local text, pieces = shape[1] .. shape[2]:rep(n // #shape[2]) .. shape[3], {}
    for i = 1, #text, 4 do pieces[#pieces + 1] = text:sub(i, i + 3) end
    local growing, before = core.growing(), os.clock()
    for i = 1, #pieces do growing:feed(pieces[i]) end
    report(("_%s"):format(name), (os.clock() - before) * 1e6 / #pieces, "us")
    assert(growing:state() == "whole")
  end
end

-- Answers with n vectors of 1,536 numbers, as JSON numbers and as base64: read, and skipped.
function run.vectors()
  local core = require "koine.core"
  local numbers = {}
  for i = 1, 1536 do numbers[i] = math.sin(i) / 25 end
  local words = {}
  for i = 1, 1536 do words[i] = ("%.9g"):format(numbers[i]) end
  local packed = koine.base64(koine.vector.pack(numbers))
  local function answer(vector)
    return '{"data":[' .. ('{"embedding":' .. vector .. "},"):rep(n - 1) .. '{"embedding":' .. vector .. "}]}"
  end
  local function time(figure, text, paths)
    local before = os.clock()
    assert(core.vectors(text, { paths = paths, packed = true, normalise = true }))
    report(figure, (os.clock() - before) * 1e9 / n / 1536, "ns")
  end
  local text = answer("[" .. table.concat(words, ",") .. "]")
  time("_skipped_ns", text, {})
  time("_ns", text, { "data[].embedding" })
  time("_base64_ns", answer('"' .. packed .. '"'), { "data[].embedding" })
end

-- n streams of `a` open at once, each past its first delta.
local function open_streams(a)
  local open = {}
  for i = 1, n do open[i] = assert(a:open "hello") end
  for i = 1, n do
    local d
    repeat d = assert(open[i]:next()) until d.type == "text_delta"
  end
  return open
end

-- The memory with n streams open.
function run.streams()
  local open = open_streams(adapter "idle")
  report("", rss(), "MiB")
  for i = 1, n do open[i]:close() end
end

-- What each of n open streams takes, beyond the process and one chat.
function run.each()
  local a = adapter "idle"
  assert(adapter "chat":chat "hello")
  collectgarbage()
  local before = rss()
  local open = open_streams(a)
  report("", (rss() - before) * 1024 / n, "KiB")
  for i = 1, n do open[i]:close() end
end

-- n streams of `deltas` numbered deltas, one every 20 ms, each in a task: CPU per delta, most memory held.
function run.paced()
  local a, expected, ended = adapter("paced?n=" .. deltas), {}, 0
  for i = 1, deltas do expected[i] = ("%06d"):format(i - 1) end
  local function read()
    local seen = 0
    for d in a:stream "hello" do
      if d.type == "text_delta" then
        seen = seen + 1
        assert(d.text == expected[seen], "a delta out of order")
      end
    end
    assert(seen == deltas, "not every delta arrived")
    ended = ended + 1
  end
  assert(adapter "chat":chat "hello")
  local before = os.clock()
  koine.run(function()
    for _ = 1, n do koine.spawn(read) end
  end)
  assert(ended == n, "not every stream ended")
  report("_us", (os.clock() - before) * 1e6 / (n * deltas), "us/delta")
  report("_peak_mb", peak(), "MiB")
end

-- From task:cancel() of a task that waits for a silent stream to the moment at which the server sees the close: the
-- median of n, and the most.
function run.cancel()
  local a, asking, took = adapter "idle", adapter "closes", {}
  local function closes()
    local count, at = assert(asking:chat "hello"):text():match "^(%d+) (%S+)$"
    return tonumber(count), tonumber(at)
  end
  koine.run(function()
    local before = closes()
    for i = 1, n do
      local waits
      local task = koine.spawn(function()
        local stream <close> = assert(a:open "hello")
        repeat waits = assert(stream:next()).type == "text_delta" until waits
        stream:next()
      end)
      repeat koine.sleep(0.001) until waits
      local cancelled = now()
      task:cancel()
      repeat
        local count, at = closes()
        took[i] = at - cancelled
      until count == before + i
    end
  end)
  table.sort(took)
  report("_median_us", took[(n + 1) // 2] * 1e6, "us")
  report("_most_us", took[n] * 1e6, "us")
end

-- The library loaded and libcurl ready.
function run.start()
  assert(koine.anthropic { model = "bench-1" })
  require("koine.core").engine():pollfd()
  report("", os.clock() * 1e3, "ms")
end

run[what]()
