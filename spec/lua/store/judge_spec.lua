-- The judge of processes' logs: each broken promise is found in a log that shows it, and a good log is passed.

local judge = require "spec.lua.store.kit.judge"

-- The problems of records, which get their times from their places; `left`: what is left in the queue q.
local function problems(records, left, value)
  for i, record in ipairs(records) do
    record.s, record.w = 1, record.w or 1
    record.from, record.to = record.from or i, record.to or i + 0.5
  end
  return table.concat(judge.problems(records, function() return value end, function(key)
    return key == "q" and left or {}
  end), "\n")
end

local function push(seq, more)
  local record = { op = "push", key = "q", item = "i" .. seq, got = seq }
  for name, field in pairs(more or {}) do record[name] = field end
  return record
end

local function claim(fence, w, ...)
  local items = {}
  for i, seq in ipairs { ... } do items[i] = { seq, "i" .. seq, 1 } end
  return { op = "claim", key = "q", got = fence, w = w, ttl = 0.1, items = items }
end

local function grant(fence, w, ttl) return { op = "lease", key = "l", got = fence, w = w, ttl = ttl or 0.1 } end

describe("the judge of processes' logs", function()
  it("passes what is right", function()
    local ack = { op = "ack", key = "q", fence = 1, seq = 1, got = true }
    assert.are.equal("", problems({ push(1), push(2), claim(1, 1, 1, 2), ack, grant(1, 1), grant(2, 2) },
      { { 2, "i2", 2 } }))
  end)

  it("finds what is wrong", function()
    local function cas(version, got) return { op = "cas", key = "n", version = version, got = got } end
    assert.is_truthy(problems({ cas("absent", "1"), cas("absent", "2") }, nil, "2"):find "^S1")
    assert.is_truthy(problems({ cas("absent", "1"), cas("1", "2") }, nil, "1"):find "^S1")
    assert.is_truthy(problems({ grant(2, 1), grant(1, 2) }):find "^S2")
    assert.is_truthy(problems({ grant(1, 1), grant(1, 2) }):find "^S2")
    assert.is_truthy(problems({ grant(1, 1, 10), grant(2, 2) }):find "^S3")
    assert.is_truthy(problems({ grant(1, 1), grant(2, 2),
      { op = "fenced", key = "l", fence = 1, got = "5" } }):find "^S4")
    assert.is_truthy(problems({ push(1), push(2), claim(1, 1, 2, 1) }, { { 1, "i1" }, { 2, "i2" } }):find "^S5")
    assert.is_truthy(problems({ push(1), push(2), claim(1, 1, 2) }, { { 1, "i1" }, { 2, "i2" } }):find "^S5")
    assert.is_truthy(problems({ push(1) }, {}):find "^S6")
    assert.is_truthy(problems({ push(1), claim(1, 1, 1), { op = "ack", key = "q", fence = 1, seq = 1, got = true } },
      { { 1, "i1" } }):find "^S6")
    assert.is_truthy(problems({ push(1), claim(1, 1, 1), claim(2, 2, 1) }, { { 1, "i1" } }):find "^S6") -- tries
    assert.is_truthy(problems({ push(1, { id = "a" }), push(2, { id = "a" }) },
      { { 1, "i1" }, { 2, "i2" } }):find "^S9")
    local function take() return { op = "take", key = "b", n = 3, capacity = 5, per = 0.1, got = 0 } end
    assert.is_truthy(problems({ take(), take() }):find "^S7")
  end)
end)
