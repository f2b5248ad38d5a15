-- What is made of records: fans, filters, logs, tables of costs, trees.

local core = require "koine.core"
local koine = require "koine"
local observer = require "koine.data.observer"
local folder = require "spec.support.folder"

local observe = koine.observe

local function kept(more)
  local records = {}
  local given = { to = function(record) records[#records + 1] = record end }
  for name, value in pairs(more or {}) do given[name] = value end
  return observe.new(given), records
end

-- Tells an observer of an agent's run with a chat that a tool made.
local function tell(to, more)
  local hook = observer.option(to, "observer")
  local agent = observer.start(hook, nil, "agent", { name = "planner" })
  local tool = observer.start(nil, agent:context(), "tool", { name = "search" })
  local chat = observer.start(nil, tool:context(), "chat", { provider = "anthropic", model = "m" })
  local fields = { usage = { input_tokens = 10, output_tokens = 5 }, cost = 0.25, attempts = 1 }
  for name, value in pairs(more or {}) do fields[name] = value or nil end
  chat:finish(fields)
  tool:finish()
  agent:finish()
end

describe("koine.observe.fan", function()
  it("hands each observer a record of its own", function()
    local first, one = kept()
    local second, two = kept { content = { "tools" } }
    local fan = observe.fan { function(record) record.type = "changed" end, first, second, function() error "no" end }
    local before = observe.errors()
    local span = observer.start(fan, nil, "tool", {}, function(span, fields)
      assert.is_true(span:wants "tools")
      assert.is_false(span:wants "messages")
      fields.content = { arguments = span:captured { a = "x" } }
    end)
    span:finish()
    assert.are.equal(before + 2, (observe.errors()))
    assert.are.equal("tool", one[1].type)
    assert.is_nil(one[1].content)
    assert.are.same({ arguments = { a = "x" } }, two[1].content)
    assert.are.equal(one[1].id, two[1].id)
  end)

  it("keeps an observer that yields from none of the others", function()
    local last, records = kept()
    local fan = observe.fan { function() coroutine.yield() end, last }
    tell(fan)
    assert.are.equal(6, #records)
  end)

  it("hands on only the kinds of content that each captures, redacted by all", function()
    local tools, of_tools = kept { content = { "tools" }, redact = function(text) return (text:gsub("one", "1")) end }
    local chats, of_chats = kept { content = { "messages" },
      redact = function(text) return (text:gsub("two", "2")) end }
    local fan = observe.fan { tools, chats }
    for _, type in ipairs { "tool", "chat" } do
      observer.start(fan, nil, type, {}, function(span, fields)
        fields.content = { text = span:captured "one two" }
      end):finish()
    end
    assert.are.equal("1 2", of_tools[1].content.text)
    assert.is_nil(of_tools[3].content)
    assert.are.equal("1 2", of_chats[3].content.text)
    assert.is_nil(of_chats[1].content)
  end)

  it("refuses what is no array of observers", function()
    local ok, err = pcall(observe.fan, { print, 5 })
    assert.is_false(ok)
    assert.are.equal("observers[2]", err.field)
  end)
end)

describe("koine.observe.filter", function()
  it("hands on what its predicate takes, with the settings of its observer", function()
    local inner, records = kept { content = true }
    local filter = observe.filter(inner, function(record) return record.type == "chat" end)
    tell(filter)
    assert.are.equal(2, #records)
    local span <close> = observer.start(filter, nil, "chat")
    assert.is_true(span:wants "messages")
    span:finish()
  end)
end)

describe("koine.observe.jsonl", function()
  local function new_folder()
    local path = folder.new()
    return setmetatable({ path = path }, { __close = function() folder.remove(path) end })
  end

  local function lines_of(path)
    local list = {}
    for line in io.lines(path) do list[#list + 1] = line end
    return list
  end

  it("writes a record a line, with sorted keys, to a file of mode 0600", function()
    local dir <close> = new_folder()
    local path = dir.path .. "/log"
    do
      local log <close> = assert(observe.jsonl(path))
      tell(log)
    end
    local lines = lines_of(path)
    assert.are.equal(6, #lines)
    for _, line in ipairs(lines) do assert.are.equal(line, core.encode(core.decode(line))) end
    local listing <close> = io.popen("ls -l " .. path)
    assert.is_truthy(listing:read("a"):find "^%-rw%-%-%-%-%-%-%-")
  end)

  it("goes on at the end of a file, and in a new one where it is long", function()
    local dir <close> = new_folder()
    local path = dir.path .. "/log"
    tell(assert(observe.jsonl(path)))
    local log <close> = assert(observe.jsonl(path, { rotate = 100 }))
    tell(log)
    assert.are.equal(1, #lines_of(path))
    assert.is_true(#lines_of(path .. ".1") <= 1)
  end)

  it("keeps lines of processes whole", function()
    local dir <close> = new_folder()
    local path = dir.path .. "/log"
    local script = ([[
      local koine = require "koine"
      local log = assert(koine.observe.jsonl(%q))
      for i = 1, 200 do log:record { v = 1, text = ("%s"):rep(5000), n = i } end]])
    local running = {}
    for i, letter in ipairs { "a", "b", "c" } do
      local file = dir.path .. "/" .. letter .. ".lua"
      local f <close> = assert(io.open(file, "w"))
      f:write(script:format(path, letter))
      f:close()
      running[i] = assert(io.popen("lua5.4 " .. file .. " 2>&1"))
    end
    for _, process in ipairs(running) do assert.are.equal("", process:read "a") process:close() end
    local counts = {}
    for _, line in ipairs(lines_of(path)) do
      local record = assert(core.decode(line))
      assert.are.equal(5000, #record.text)
      counts[record.text:sub(1, 1)] = (counts[record.text:sub(1, 1)] or 0) + 1
    end
    assert.are.same({ a = 200, b = 200, c = 200 }, counts)
  end)

  it("writes to an open file, and says what cannot be written", function()
    local dir <close> = new_folder()
    local file <close> = assert(io.open(dir.path .. "/log", "w"))
    tell(assert(observe.jsonl(file)))
    assert.are.equal(6, #lines_of(dir.path .. "/log"))
    local log, err = observe.jsonl(dir.path .. "/none/log")
    assert.is_nil(log)
    assert.are.equal("absent", err.code)
    local closed = assert(observe.jsonl(dir.path .. "/log"))
    closed:close()
    local before = observe.errors()
    tell(closed)
    assert.are.equal(before + 6, (observe.errors()))
  end)
end)

describe("koine.observe.cost", function()
  it("adds up chats by provider and model", function()
    local cost = observe.cost()
    tell(cost)
    tell(cost, { attempts = 3 })
    tell(cost, { response_model = "other", cost = false })
    assert.are.same({
      { provider = "anthropic", model = "m", calls = 2, failed = 0, retried = 2, unknown = 0, input_tokens = 20,
        output_tokens = 10, cost = 0.5 },
      { provider = "anthropic", model = "other", calls = 1, failed = 0, retried = 0, unknown = 1, input_tokens = 10,
        output_tokens = 5 },
    }, cost:table())
    local total = cost:total()
    assert.are.equal(3, total.calls)
    assert.are.equal(0.5, total.cost)
    assert.are.equal(1, total.unknown)
    assert.is_truthy(tostring(cost):find("all", 1, true))
  end)

  it("adds up by agent, tool, day, and by a function", function()
    local cost = observe.cost { by = { "agent", "tool", "day" } }
    tell(cost)
    local row = cost:table()[1]
    assert.are.equal("planner", row.agent)
    assert.are.equal("search", row.tool)
    assert.are.equal(os.date "!%Y-%m-%d", row.day)
    local own = observe.cost { by = function(record, start) return start.provider .. #record.id end }
    tell(own)
    assert.are.equal("anthropic16", own:table()[1].by)
    own = observe.cost { by = function() error "no" end }
    pcall(tell, own)
    assert.are.equal(1, own:total().calls)
    assert.is_false((pcall(observe.cost, { by = {} })))
    assert.is_false((pcall(observe.cost, { by = { "month" } })))
  end)

  it("counts as unknown what may have used tokens that nobody said", function()
    for _, case in ipairs {
      { 1, { kind = "timeout", code = "total" }, 1 }, { 1, { kind = "stream_truncated", status_code = 200 }, 1 },
      { 1, { kind = "cancelled" }, nil }, { 0, { kind = "cancelled" }, 0 }, { 0, { kind = "connect" }, 1 },
      { 0, { kind = "timeout", code = "connect" }, 1 }, { 0, { kind = "auth", status_code = 401 }, 1 },
      { 0, { kind = "server", status_code = 529 }, 2 },
    } do
      local cost = observe.cost()
      cost:record { v = 1, type = "chat", phase = "end", trace = "a", id = "b", time = 1, seconds = 1, error = case[2],
        attempts = case[3] }
      assert.are.equal(case[1], cost:total().unknown)
    end
  end)

  it("equals the sum of what the Responses say", function()
    local server <close> = assert(koine.testing.start { script = { { content = "one" }, { content = "two" },
      { content = "three" } } })
    local cost = observe.cost()
    local claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "test-key",
      observer = cost }
    local sum = 0
    for _ = 1, 2 do sum = sum + assert(claude:chat "Hi."):to_table().usage.cost.total end
    assert.are.equal(sum, cost:total().cost)
    assert.are.equal(0, cost:total().unknown)
    for _ in claude:stream "Hi." do break end -- luacheck: ignore 512
    assert.are.same({ 3, 1, 1 }, { cost:total().calls, cost:total().failed, cost:total().unknown })
  end)
end)

describe("koine.observe.tree", function()
  it("makes one tree of a trace, in any order", function()
    local observer_of, records = kept()
    tell(observer_of)
    for _ = 1, 20 do
      for i = #records, 2, -1 do
        local j = math.random(i)
        records[i], records[j] = records[j], records[i]
      end
      local roots = observe.tree(records)
      assert.are.equal(1, #roots)
      assert.are.equal("agent", roots[1].type)
      assert.are.equal("tool", roots[1].parts[1].type)
      assert.are.equal("chat", roots[1].parts[1].parts[1].type)
      assert.is_nil(roots[1].open)
      assert.are.equal(0.25, roots[1].parts[1].parts[1].finish.cost)
    end
  end)

  it("shows what is open, and what has no parent among the records", function()
    local observer_of, records = kept()
    tell(observer_of)
    local roots = observe.tree { records[2], records[3], records[4], "no record", {} }
    assert.are.equal(1, #roots)
    assert.are.equal("tool", roots[1].type)
    assert.is_true(roots[1].open)
    assert.is_nil(roots[1].parts[1].open)
  end)

  it("names spans, and keeps points that are part of nothing", function()
    local roots = observe.tree { { id = "1", type = "mcp", phase = "start", time = 1, server = "files",
      method = "tools/call", target = "read" },
      { id = "2", parent = "1", type = "attempt", phase = "start", time = 2, number = 3 },
      { id = "3", parent = "1", type = "retry", phase = "point", time = 2 },
      { id = "4", type = "queued", phase = "point", time = 3, session = "ada" },
      { id = "5", type = "tool", phase = "start", time = {}, name = 5 } } -- damaged
    assert.are.same({ "tool", "mcp", "queued" }, { roots[1].type, roots[2].type, roots[3].type })
    assert.is_nil(roots[1].name)
    assert.are.equal("files tools/call read", roots[2].name)
    assert.are.equal("#3", roots[2].parts[1].name)
    assert.are.equal("retry", roots[2].points[1].type)
    assert.are.equal("ada", roots[3].name)
    assert.are.equal("ada", roots[3].point.session)
    assert.is_nil(roots[3].open)
  end)

  it("ends where parents go round in a circle", function()
    local roots = observe.tree { { id = "a", parent = "b", type = "x", phase = "start" },
      { id = "b", parent = "a", type = "x", phase = "start" }, { id = "c", parent = "c", type = "x", phase = "start" } }
    assert.are.equal(3, #roots)
  end)

  it("takes 10,000 records in a chain", function()
    local records = {}
    for i = 1, 10000 do
      records[i] = { id = tostring(i), parent = i > 1 and tostring(i - 1) or nil, type = "x", phase = "start",
        time = i }
    end
    assert.are.equal(1, #observe.tree(records))
  end)
end)
