-- Observers: how records come to them, and what they cannot do to the program.

local core = require "koine.core"
local errors = require "koine.data.errors"
local observer = require "koine.data.observer"

local TRACEPARENT <const> = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

-- A hook that keeps its records, with ids 1, 2, … and a clock that counts.
local function kept(more)
  local records, id, time = {}, 0, 0
  local given = { to = function(record) records[#records + 1] = record end,
    ids = function(bytes)
      id = id + 1
      return ("%0" .. 2 * bytes .. "x"):format(id)
    end,
    clock = function()
      time = time + 1
      return time
    end }
  for name, value in pairs(more or {}) do given[name] = value end
  return observer.new(given), records
end

describe("a span", function()
  it("tells its start and its end", function()
    local hook, records = kept()
    local span = observer.start(hook, nil, "chat", { provider = "p" })
    span:finish { stop_reason = "end_turn" }
    assert.are.same({ v = 1, type = "chat", phase = "start", trace = ("0"):rep(31) .. "1", id = ("0"):rep(15) .. "2",
      time = 1, provider = "p" }, records[1])
    local last = records[2]
    assert.is_true(last.seconds >= 0)
    last.seconds = nil
    assert.are.same({ v = 1, type = "chat", phase = "end", trace = ("0"):rep(31) .. "1", id = ("0"):rep(15) .. "2",
      time = 2, stop_reason = "end_turn" }, last)
  end)

  it("ends once", function()
    local hook, records = kept()
    do
      local span <close> = observer.start(hook, nil, "chat")
      span:finish()
      span:finish()
    end
    assert.are.equal(2, #records)
  end)

  it("ends where it is closed or collected, as broken off", function()
    local hook, records = kept()
    do local _ <close> = observer.start(hook, nil, "chat") end
    assert.are.equal("cancelled", records[2].error.kind)
    pcall(function()
      local _ <close> = observer.start(hook, nil, "chat")
      error({}, 0)
    end)
    assert.are.equal("Error", records[4].error.class)
    observer.start(hook, nil, "chat")
    collectgarbage()
    collectgarbage()
    assert.are.equal("end", records[6].phase)
    assert.are.equal("cancelled", records[6].error.kind)
  end)

  it("is a part of its parent, which also has the hook", function()
    local hook, records = kept()
    local outer = observer.start(hook, nil, "agent")
    local inner = observer.start(nil, outer:context(), "chat")
    inner:finish()
    outer:finish()
    assert.are.equal(records[1].id, records[2].parent)
    assert.are.equal(records[1].trace, records[2].trace)
    assert.are.equal(outer:context(), outer:context())
  end)

  it("takes a traceparent, and gives one", function()
    local hook, records = kept()
    local parent = observer.parent(TRACEPARENT, "parent")
    local span = observer.start(hook, parent, "chat")
    assert.are.equal("0af7651916cd43dd8448eb211c80319c", records[1].trace)
    assert.are.equal("b7ad6b7169203331", records[1].parent)
    assert.are.equal("00-0af7651916cd43dd8448eb211c80319c-" .. records[1].id .. "-01", tostring(span:context()))
    assert.is_nil(observer.start(nil, parent, "chat"))
    span:finish()
  end)

  it("refuses what is no traceparent", function()
    for _, text in ipairs { "", "00-1-2-01", TRACEPARENT:upper(), "ff" .. TRACEPARENT:sub(3), TRACEPARENT .. "-x",
      "00-" .. ("0"):rep(32) .. "-b7ad6b7169203331-01",
      "00-0af7651916cd43dd8448eb211c80319c-" .. ("0"):rep(16) .. "-01" } do
      local ok, err = pcall(observer.parent, text, "parent")
      assert.is_false(ok, text)
      assert.are.equal("parent", err.field)
    end
    assert.is_truthy(observer.parent("cc" .. TRACEPARENT:sub(3) .. "-what-comes", "parent"))
  end)

  it("has ids of the system's random source", function()
    local records = {}
    local hook = observer.option(function(record) records[#records + 1] = record end, "observer")
    for _ = 1, 100 do observer.start(hook, nil, "chat"):finish() end
    local seen = {}
    for i = 1, 200, 2 do
      assert.is_truthy(records[i].trace:find "^%x+$" and #records[i].trace == 32)
      assert.are.equal(16, #records[i].id)
      assert.is_nil(seen[records[i].id])
      seen[records[i].id] = true
    end
    assert.is_true(records[1].time > 1600000000000000000)
  end)
end)

describe("an observer", function()
  it("that raises is counted, and changes nothing", function()
    local before = observer.failures()
    local hook = observer.option(function() error "broken" end, "observer")
    observer.start(hook, nil, "chat"):finish()
    local after, first = observer.failures()
    assert.are.equal(before + 2, after)
    assert.is_truthy(first)
  end)

  it("that yields is counted, and the program's coroutine goes on", function()
    local before = observer.failures()
    local calls = 0
    local hook = observer.option(function()
      calls = calls + 1
      coroutine.yield "out"
    end, "observer")
    local co = coroutine.wrap(function()
      observer.start(hook, nil, "chat"):finish()
      return "done"
    end)
    assert.are.equal("done", co())
    assert.are.equal(2, calls)
    assert.are.equal(before + 2, (observer.failures()))
  end)

  it("that begins what is observed gets those records after the first", function()
    local seen, hook = {}, nil
    hook = observer.option(function(record)
      seen[#seen + 1] = record.type .. " " .. record.phase
      if record.type == "chat" and record.phase == "start" then observer.start(hook, nil, "wait"):finish() end
      seen[#seen + 1] = "done"
    end, "observer")
    observer.start(hook, nil, "chat"):finish()
    assert.are.same({ "chat start", "done", "wait start", "done", "wait end", "done", "chat end", "done" }, seen)
  end)

  it("is not told for ever of what it does itself", function()
    local hook, records = nil, {}
    hook = observer.new { to = function(record)
      records[#records + 1] = record
      local span <close> = observer.start(hook, nil, "nested")
      if span then span:finish() end
    end }
    local before = observer.failures()
    observer.start(hook, nil, "chat"):finish()
    assert.are.equal(6, #records) -- two, and a nested span of each
    assert.are.equal(before + 4, (observer.failures()))
    observer.start(hook, nil, "chat"):finish()
    assert.are.equal(12, #records)
  end)

  it("gets what is told while its values are closed after it has returned", function()
    local calls, hook = 0, nil
    local function closing()
      return setmetatable({}, { __close = function() observer.start(hook, nil, "wait"):finish() end })
    end
    hook = observer.new { to = function()
      calls = calls + 1
      local one <close> = closing() -- luacheck: ignore one
      local two <close> = closing() -- luacheck: ignore two
      error "no"
    end }
    observer.point(nil, "delta", {}, hook)
    assert.are.equal(5, calls) -- a point, two spans; what these tell is refused
  end)

  it("is told again where an error, of memory say, left the marks of what it told itself", function()
    local seen, hook = {}, nil
    hook = observer.new { to = function(record)
      seen[#seen + 1] = record.type
      if record.type == "retry" then observer.point(nil, "cache_miss", {}, hook) end
    end }
    hook.behind, hook.draining = true, true
    observer.point(nil, "retry", {}, hook)
    assert.are.same({ "retry", "cache_miss" }, seen)
    for i = 1, 1000 do hook.waiting[i] = { v = 1, type = "waited", phase = "point", trace = ("0"):rep(32),
      id = ("0"):rep(16), time = i } end
    hook.behind = true
    observer.point(nil, "retry", {}, hook)
    assert.are.equal(1003, #seen) -- as many as may wait did
    assert.are.same({ "retry", "waited" }, { seen[3], seen[4] })
  end)

  it("is told the end later, and once, where an error, of memory say, or its own clock came between", function()
    local seen = {}
    local hook = observer.new { to = function(record) seen[#seen + 1] = record.type .. " " .. record.phase end }
    local clock, failing = hook.clock, false
    function hook.clock()
      if failing then error("not enough memory", 0) end
      return clock()
    end
    failing = true
    assert.is_false((pcall(observer.start, hook, nil, "chat")))
    failing = false
    collectgarbage() -- nothing began, so that nothing ends
    local span = observer.start(hook, nil, "chat")
    span:begin_attempt({}, nil)
    failing = true
    assert.is_false((pcall(span.end_attempt, span)))
    assert.is_false((pcall(span.finish, span)))
    failing = false
    span:break_off()
    span:break_off()
    assert.are.same({ "chat start", "attempt start", "attempt end", "chat end" }, seen)
    span = observer.start(hook, nil, "chat")
    function hook.clock()
      hook.clock = clock
      span:finish()
      return clock()
    end
    span:finish()
    assert.are.same({ "chat start", "chat end" }, { table.unpack(seen, 5) })
  end)

  it("in a fan gets each end that it got the start of, and is not told for ever", function()
    local open, orphans, records, fan = {}, 0, 0, nil
    local hook = observer.new { to = function(record)
      records = records + 1
      if record.phase == "start" then open[record.id] = true
      elseif record.phase == "end" then
        if not open[record.id] then orphans = orphans + 1 end
        open[record.id] = nil
      end
      local span <close> = observer.start(fan, nil, "wait") -- luacheck: ignore span
    end }
    fan = observer.fan { hook }
    observer.start(hook, nil, "chat"):finish()
    assert.are.same({ 0, nil }, { orphans, (next(open)) })
    assert.is_true(records >= 4 and records < 20, records)
  end)

  it("gets each end though finalizers tell while a record waits", function()
    local started, ended, hook = 0, 0, nil
    hook = observer.new { to = function(record)
      if record.type == "retry" then
        observer.point(nil, "cache_miss", {}, hook)
      elseif record.phase == "start" then started = started + 1
      elseif record.phase == "end" then ended = ended + 1 end
    end }
    collectgarbage "generational"
    for _ = 1, 4000 do
      observer.start(hook, nil, "wait")
      observer.point(nil, "retry", {}, hook)
    end
    collectgarbage "incremental"
    collectgarbage()
    collectgarbage()
    assert.are.same({ 4000, 4000 }, { started, ended })
  end)

  it("does no harm where its redact, ids or clock raise, yield or give nonsense", function()
    for _, bad in ipairs { function() error "no" end, coroutine.yield, function() return {} end } do
      local records = {}
      local hook = observer.new { to = function(record) records[#records + 1] = record end, content = true,
        ids = bad, clock = bad, redact = bad }
      local before = observer.failures()
      local co = coroutine.wrap(function()
        local span = observer.start(hook, nil, "tool", {}, function(span, fields)
          fields.content = { arguments = span:captured { text = "x" } }
        end)
        span:finish()
        return "done"
      end)
      assert.are.equal("done", co())
      assert.are.equal(2, #records)
      assert.is_truthy(records[1].id:find "^%x+$")
      assert.is_true(math.type(records[1].time) == "integer")
      assert.is_true(observer.failures() > before)
    end
  end)

  it("shares no table with an error, and ends once where the error's words end its span", function()
    local hook, records = kept()
    local shared = {}
    local again = observer.start(hook, nil, "chat")
    again:finish(nil, setmetatable({}, { __tostring = function()
      again:finish()
      return "words"
    end }))
    assert.are.equal(2, #records)
    local span = observer.start(hook, nil, "chat")
    span:finish(nil, errors.new { kind = "other", message = "x", code = shared })
    assert.is_nil(records[4].error.code)
  end)

  it("copies attributes once, also those that are in themselves", function()
    local own = { team = "a" }
    own.again, own.more = own, own
    local hook, records = kept { attributes = own }
    own.team = "changed"
    observer.start(hook, nil, "chat"):finish()
    assert.are.equal("a", records[2].attributes.team)
    for _, wrong in ipairs { { f = print }, { 2 }, { a = { b = io.stdout } }, { a = { [1.5] = 1 } } } do
      local ok, err = pcall(observer.new, { to = print, attributes = wrong })
      assert.are.same({ false, "attributes" }, { ok, err.field })
    end
  end)

  it("may be an object with a method record", function()
    local object = { seen = {} }
    function object:record(record) self.seen[#self.seen + 1] = record.phase end
    observer.start(observer.option(object, "observer"), nil, "chat"):finish()
    assert.are.same({ "start", "end" }, object.seen)
  end)

  it("is refused where it is none", function()
    for _, value in ipairs { 1, "x", {}, true } do
      local ok, err = pcall(observer.option, value, "observer")
      assert.is_false(ok)
      assert.are.equal("observer", err.field)
    end
    local ok, err = pcall(observer.new, { to = print, content = { "message" } })
    assert.is_false(ok)
    assert.are.equal("content", err.field)
  end)
end)

describe("captured content", function()
  local SECRET <const> = "sk-0123456789abcdef"

  it("is a copy, cut and redacted", function()
    local hook = kept { content = true, content_max = 8, redact = function(text) return (text:gsub("cat", "dog")) end }
    local span <close> = observer.start(hook, nil, "chat")
    local given = { { role = "user", content = "a cat sat on it" }, { role = "user", content = "é" .. SECRET } }
    local copy = span:captured(given, { SECRET })
    assert.are.same({ { role = "user", content = "a dog sa" }, { role = "user", content = "é[redac" } }, copy)
    copy[1].role = "changed"
    assert.are.equal("user", given[1].role)
    span:finish()
  end)

  it("is valid UTF-8, and has words in place of media", function()
    local hook = kept { content = true }
    local span <close> = observer.start(hook, nil, "chat")
    assert.are.same({ "a\u{FFFD}b", { type = "text", text = "[image/png, 3 bytes]" } }, span:captured { "a\xFFb",
      { type = "image", source = { type = "base64", media_type = "image/png", data = "QUJD" } } })
    span:finish()
  end)

  it("is wanted as the settings say", function()
    local function wants(content)
      local hook = kept { content = content }
      local span <close> = observer.start(hook, nil, "chat")
      local messages, tools, deltas = span:wants "messages", span:wants "tools", span:wants "deltas"
      span:finish()
      return { messages, tools, deltas }
    end
    assert.are.same({ false, false, false }, wants(nil))
    assert.are.same({ true, true, false }, wants(true))
    assert.are.same({ false, false, true }, wants { "deltas" })
  end)

  it("may be as deep as it likes", function()
    local hook = kept { content = true }
    local span <close> = observer.start(hook, nil, "chat")
    local deep = {}
    for _ = 1, 10000 do deep = { deep } end
    assert.is_truthy(core.encode(span:captured(deep)):find("[deeper]", 1, true))
    span:finish()
  end)
end)
