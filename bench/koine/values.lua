-- values.lua WHAT LABEL - N: work without a network: rendering a request, JSON that grows, vectors.
local koine = require "koine"
local kit = require "bench.koine.kit"
local core = require "koine.core"

local programs = {}

-- 199 messages, half of them tool calls and results.
local function long_history()
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
  return history
end

-- The body of a request with 199 messages: tables to bytes.
function programs.render(label, _, n)
  local adapter = kit.adapter("http://127.0.0.1:1", "anthropic", "")
  local request = { model = "bench-1", stream = false, messages = long_history(), max_tokens = 1024, tools = {
    { name = "weather", description = "The weather.", parameters = { type = "object",
      properties = { city = { type = "string" }, unit = { type = "string" } }, required = { "city" } } } } }
  adapter:render(request)
  local before = os.clock()
  for _ = 1, n do adapter:render(request) end
  kit.report(label, "", (os.clock() - before) * 1e6 / n, "us")
end

-- Values of n bytes of JSON that grow by 4 bytes at a time: one long string; many small elements.
function programs.growing(label, _, n)
  local shapes = {
    string = { '{"a":"', "plain text of a string ", '"}' },
    elements = { "[0", ',{"name":"number one","price":12.5,"tags":["a","b"],"on":true}', "]" },
  }
  for name, shape in pairs(shapes) do
    local text, pieces = shape[1] .. shape[2]:rep(n // #shape[2]) .. shape[3], {}
    for i = 1, #text, 4 do pieces[#pieces + 1] = text:sub(i, i + 3) end
    local growing, before = core.growing(), os.clock()
    for i = 1, #pieces do growing:feed(pieces[i]) end
    kit.report(label, ("_%s_ns"):format(name), (os.clock() - before) * 1e9 / #pieces, "ns")
    assert(growing:state() == "whole")
  end
end

-- Answers with n vectors of 1,536 numbers, as JSON numbers and as base64: read, and skipped.
function programs.vectors(label, _, n)
  local numbers, words = {}, {}
  for i = 1, 1536 do
    numbers[i] = math.sin(i) / 25
    words[i] = ("%.9g"):format(numbers[i])
  end
  local packed = koine.base64(koine.vector.pack(numbers))
  local function answer(vector)
    return '{"data":[' .. ('{"embedding":' .. vector .. "},"):rep(n - 1) .. '{"embedding":' .. vector .. "}]}"
  end
  local function time(figure, text, paths)
    local before = os.clock()
    assert(core.vectors(text, { paths = paths, packed = true, normalise = true }))
    kit.report(label, figure, (os.clock() - before) * 1e9 / n / 1536, "ns")
  end
  local text = answer("[" .. table.concat(words, ",") .. "]")
  time("_skipped_ns", text, {})
  time("_ns", text, { "data[].embedding" })
  time("_base64_ns", answer('"' .. packed .. '"'), { "data[].embedding" })
end

kit.main(programs)
