-- Trees tell where a provider's cache was missed, and what differs from the call before.

local koine = require "koine"

local HELD <const> = { cache_creation_tokens = 900, cache_read_tokens = 0 }
local MISSED <const> = { cache_creation_tokens = 0, cache_read_tokens = 0 }

-- The point of the second of two chats that begin with these fields; nil where there is none. `usage`: of both ends.
local function point_of(first, second, usage)
  local records = { { v = 1, type = "agent", phase = "start", id = "a", time = 1 } }
  for i, fields in ipairs { first, second } do
    local start = { v = 1, type = "chat", phase = "start", id = tostring(i), parent = "a", time = 2 * i, provider = "p",
      model = "m", trace = "t" }
    for name, value in pairs(fields) do start[name] = value end
    records[2 * i] = start
    records[2 * i + 1] = { v = 1, type = "chat", phase = "end", id = tostring(i), time = 2 * i + 1, seconds = 1,
      usage = usage and usage[i] or ({ HELD, MISSED })[i] }
  end
  local points = {}
  local function collect(nodes)
    for _, node in ipairs(nodes) do
      for _, point in ipairs(node.points) do points[#points + 1] = { id = node.id, point = point } end
      collect(node.parts)
    end
  end
  collect(koine.observe.tree(records))
  assert.is_true(#points <= 1)
  if not points[1] then return nil end
  assert.are.equal("2", points[1].id)
  assert.are.equal("cache_miss", points[1].point.type)
  return points[1].point
end

local function asks(...)
  return { content = { system = "Be brief.", tools = { { name = "add" } }, messages = { ... } } }
end
local HI <const>, HO <const> = { role = "user", content = "Hi." }, { role = "assistant", content = "Ho." }

describe("koine.observe.tree", function()
  it("says where a call that missed the cache first differs from the one before", function()
    for path, change in pairs {
      ["messages[0].content"] = function(fields) fields.content.messages[1] = { role = "user", content = "Hey." } end,
      ["messages[1]"] = function(fields) fields.content.messages[2] = nil end,
      ["messages[1].role"] = function(fields) fields.content.messages[2] = { role = "user", content = "Ho." } end,
      system = function(fields) fields.content.system = nil end,
      ["tools[0].name"] = function(fields) fields.content.tools = { { name = "sub" } } end,
      ["tools[1]"] = function(fields) fields.content.tools[2] = { name = "sub" } end,
      ["tools[0].strict"] = function(fields)
        fields.content.tools[1].strict = true
        fields.content.system = "x"
      end,
    } do
      local second = asks(HI, HO)
      change(second)
      assert.are.equal(path, (point_of(asks(HI, HO), second) or {}).path)
    end
  end)

  it("knows no difference where the call goes on as the one before, or content was not captured", function()
    local point = point_of(asks(HI), asks(HI, HO, HI))
    assert.are.equal(4, point.time)
    assert.is_nil(point.path)
    assert.is_nil(point_of({}, {}).path)
    assert.is_nil(point_of({ content = 5 }, asks(HI)).path)
  end)

  it("takes no call for a miss that read from the cache, or that no cache was filled for", function()
    assert.is_nil(point_of(asks(HI), asks(HO), { HELD, { cache_read_tokens = 1 } }))
    assert.is_nil(point_of(asks(HI), asks(HO), { HELD, {} })) -- not known
    assert.is_nil(point_of(asks(HI), asks(HO), { MISSED, MISSED }))
    assert.is_nil(point_of(asks(HI), asks(HO), { 5, MISSED }))
  end)

  it("compares calls of one model, run or conversation", function()
    assert.is_nil(point_of({ model = "x" }, {}))
    assert.is_nil(point_of({ parent = "b" }, {}))
    assert.is_nil(point_of({ conversation = "ada" }, { conversation = "bob" }))
    assert.is_truthy(point_of({ conversation = "ada", parent = "b" }, { conversation = "ada" }))
  end)
end)
