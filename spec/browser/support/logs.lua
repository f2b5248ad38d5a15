-- Logs for specs of the page of records: of real runs on the loopback provider, and long ones that are made.

local koine = require "koine"

local logs = {}

local MODEL <const> = "claude-sonnet-4-5"

--- What a run of an agent with tools tells its observer, then a chat that fails, then one that is still open: an array
-- of records. `words`: {prompt, name, result, answer}, for what is said.
function logs.run(words)
  local records = {}
  local observer = koine.observe.new { content = true, to = function(record) records[#records + 1] = record end }
  local server <close> = assert(koine.testing.start { script = {
    { error = { status = 429, headers = { ["retry-after-ms"] = "5" } } },
    { content = { { type = "tool_use", name = "add", arguments = { a = 2, b = 3, note = words.prompt } } } },
    { content = { { type = "tool_use", name = "fail", arguments = {} } } },
    { content = words.answer },
    { error = { status = 400, message = words.answer } },
    { content = words.answer },
  } })
  local claude <close> = koine.anthropic { model = MODEL, base_url = server.url, key = "test-key", observer = observer }
  local add = koine.tool { name = "add", description = "Adds.", example = { a = 1, b = 2, note = "" },
    run = function() return words.result end }
  local fail = koine.tool { name = "fail", description = "Fails.", run = function() error "no such place" end }
  local agent = koine.agent { adapter = claude, observer = observer, name = words.name, tools = { add, fail },
    system = "Be brief." }
  assert(agent:run(words.prompt))
  assert(not claude:chat(words.prompt))
  local _ <close> = assert(claude:open(words.prompt))
  return table.move(records, 1, #records, 1, {}) -- before the stream is closed, which ends its chat
end

local function id_of(n) return ("%016x"):format(n) end

--- So many runs of one chat and one tool each, as records: every string of content has `bytes` bytes.
function logs.many(runs, bytes)
  local records, time = {}, 1790000000000000000
  local said = ("lorem ipsum dolor "):rep(bytes // 18 + 1):sub(1, bytes)
  local function span(id, above, start, finish)
    local common = { v = 1, trace = ("%032x"):format(1), id = id_of(id), parent = above and id_of(above), time = time }
    for name, value in pairs(common) do start[name], finish[name] = value, value end
    finish.type, start.phase, finish.phase, finish.seconds = start.type, "start", "end", 0.75
    records[#records + 1], records[#records + 2] = start, finish
    time = time + 1000000
  end
  for i = 1, runs do
    local id = i * 4
    span(id, nil, { type = "agent", name = "agent " .. i }, { status = "completed" })
    span(id + 1, id, { type = "chat", model = MODEL, provider = "anthropic",
      content = { messages = { { role = "user", content = i .. " " .. said } } } },
      { usage = { input_tokens = 100, output_tokens = 20 }, cost = 0.0006,
        content = { blocks = { { type = "text", text = said } } } })
    span(id + 2, id, { type = "tool", name = "search", content = { arguments = { query = said } } },
      { content = { result = i == runs and said .. " needle" or said }, is_error = i % 100 == 0 or nil })
  end
  return records
end

return logs
