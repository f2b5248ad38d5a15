-- Values that grow while their JSON arrives: one Lua value, changed in place.
local core = require "koine.core"

local function raised(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.are.equal("ArgumentError", err.class)
  return err
end

-- Feeds the text in pieces of n bytes and calls f(growing, bytes so far) after each.
local function feed(growing, text, n, f)
  for i = 1, #text, n do
    growing:feed(text:sub(i, i + n - 1))
    if f then f(growing, math.min(i + n - 1, #text)) end
  end
  return growing
end

local DOCUMENTS = {
  '{"":[{"":1}]}',
  '{"a":[1,-2.5,1e300,true,false,null,"x\\ny"],"b":{},"c":[],"d":{"":{"e":[[],[{}]]}},"f":9223372036854775807}',
  ' {"k\\u00e9/~":"\\ud83d\\ude00 \\ud83d \u{20AC}","big":9223372036854775808,"minus":-0} ',
  '[{"name":"one","tags":["a","b"]},{"name":"two","tags":[]},{"name":"","tags":["\xFF\xED\xA0\x80"]}]',
}

describe("core.growing", function()
  it("ends with what core.decode reads, wherever the text is cut", function()
    for _, text in ipairs(DOCUMENTS) do
      local whole = core.encode(core.decode(text, true))
      for n = 1, #text do
        local growing = feed(core.growing(), text, n)
        assert.are.equal("whole", growing:state())
        assert.are.equal(whole, core.encode(growing:value()))
      end
    end
  end)

  it("is no JSON from a number beyond double on, as for core.decode", function()
    assert.is_nil((core.decode('{"a":[1],"huge":1e999,"more":1}', true)))
    for n = 1, 20 do
      local growing = feed(core.growing(), '{"a":[1],"huge":1e999,"more":1}', n)
      assert.are.same({ "not_json", 21 }, { growing:state() })
      assert.are.same({ a = { 1 } }, growing:value())
    end
    local growing = feed(core.growing(), "1e999", 1)
    growing:finish()
    assert.are.equal("not_json", (growing:state()))
    assert.is_nil(growing:value())
  end)

  it("changes one table in place", function()
    local growing = core.growing()
    assert.is_nil(growing:value())
    growing:feed '{"items":['
    local value = growing:value()
    local items = value.items
    assert.are.same({ items = {} }, value)
    assert.are.equal(core.array_mt, getmetatable(items))
    growing:feed '{"name":"wi'
    local item = items[1]
    assert.are.same({ name = "wi" }, item)
    growing:feed 'ne","price":1'
    assert.are.same({ name = "wine" }, item)
    growing:feed '2.50,"stock":nul'
    assert.are.same({ name = "wine", price = 12.5 }, item)
    growing:feed 'l},'
    assert.are.equal(core.null, item.stock)
    growing:feed ']'
    assert.are.same({ "not_json", 53 }, { growing:state() })
    assert.are.equal(value, growing:value())
    assert.are.equal(items, value.items)
    assert.are.equal(item, items[1])
    assert.is_nil(items[2])
  end)

  it("tells which value changed, and whether it is whole", function()
    local growing = core.growing()
    local steps = {
      { "{", "", false }, { '"a', nil }, { '":1', nil }, { "2", nil }, { ",", "/a", true },
      { ' "b/~":"', "/b~1~0", false }, { "x", "/b~1~0", false }, { "\\", nil }, { "n", "/b~1~0", false },
      { '"', "/b~1~0", true }, { ',"c":[', "/c", false },
      { "true", "/c/0", true }, { ",[", "/c/1", false }, { '"one","two', "/c/1", false }, { "", nil },
      { '"', "/c/1/1", true }, { "]", "/c/1", true }, { ",{}", "/c/2", true }, { ",3,4]", "/c", true },
      { ',"d":"x","e":{"f', "", false }, { '":0}', "/e", true }, { "}", "", true }, { " \n", nil },
    }
    for i, step in ipairs(steps) do
      local path, complete = growing:feed(step[1])
      assert.are.same({ i, step[2], step[3] }, { i, path, complete })
    end
    assert.are.same({ "whole" }, { growing:state() })
  end)

  it("tells the path of a container where the path of the value is long", function()
    local growing, name = core.growing(), ("k"):rep(1019)
    growing:feed '{"a":{"'
    assert.are.same({ "/a/" .. name, false }, { growing:feed(name .. '":{"":"') })
    assert.are.same({ "/a/" .. name .. "/", true }, { growing:feed '"' })
    assert.are.same({ "/a/" .. name .. "/b", false }, { growing:feed ',"b":"' })
    assert.are.same({ "/a/" .. name, false }, { growing:feed '","cd":"' })
    assert.are.same({ "/a/" .. name, false }, { growing:feed "x" })
    assert.are.same({ "/a/" .. name, false }, { growing:feed '"' })
    assert.are.same({ "/a/" .. name, true }, { growing:feed "}" })
    growing:feed((',"%s":'):format(name .. "kkk"))
    assert.are.same({ "/a", false }, { growing:feed "[" })
    assert.are.same({ "/a", false }, { growing:feed "[]]" })
    assert.are.same({ "/a", true }, { growing:feed "}" })
  end)

  it("stops behind each value with so many steps", function()
    local growing, seen = core.growing(), {}
    local function elements(piece)
      local path, complete = growing:feed(piece, 2)
      while path do
        if complete and path:match "^/items/%d+$" then seen[#seen + 1] = path end
        path, complete = growing:feed(nil, 2)
      end
    end
    elements '{"n":1,"items":[{"a":[1,2]},"x",3'
    assert.are.same({ "/items/0", "/items/1" }, seen)
    elements ',{"a":'
    assert.are.same({ "/items/0", "/items/1", "/items/2" }, seen)
    elements '{}},[[]]],"others":[1]}'
    assert.are.same({ "/items/0", "/items/1", "/items/2", "/items/3", "/items/4" }, seen)
    assert.are.equal("whole", (growing:state()))
  end)

  it("takes no piece before the last one is read", function()
    local growing = core.growing()
    assert.are.same({ "/0", true }, { growing:feed("[[],[],[", 1) })
    assert.are.equal("piece", raised(growing.feed, growing, "]").field)
    collectgarbage()
    assert.are.same({ "/1", true }, { growing:feed(nil, 1) })
    assert.are.same({ "/2", false }, { growing:feed() })
    assert.are.same({ "", true }, { growing:feed "]]" })
    assert.are.same({ {}, {}, {} }, growing:value())
  end)

  it("gives a key that comes twice its last value", function()
    local growing = core.growing()
    growing:feed '{"a":{"b":1},"a":"x'
    assert.are.same({ a = "x" }, growing:value())
    assert.are.same({ "/a", true }, { growing:feed 'y"' })
    growing:feed ',"\\u0061":[2]}'
    assert.are.same({ a = { 2 } }, growing:value())
  end)

  it("leaves out a key whose last value is null, where it leaves out nulls", function()
    local growing = core.growing { without_nulls = true }
    growing:feed '{"o":{"a":"x","b":1'
    assert.are.same({ "/o/b", true }, { growing:feed ',"n":nul' })
    assert.is_nil((growing:feed 'l,"a":nul'))
    assert.are.same({ o = { a = "x", b = 1 } }, growing:value())
    assert.are.same({ "/o", false }, { growing:feed 'l' })
    assert.are.same({ o = { b = 1 } }, growing:value())
    assert.are.same({ "/o/a", true }, { growing:feed ',"a":2,' })
    assert.are.same({ "/o", false }, { growing:feed '"a":null,"a":3 ' })
    assert.are.same({ o = { a = 3, b = 1 } }, growing:value())
    assert.are.same({ "", true }, { growing:feed ',"a":null}}' })
    assert.are.same({ o = { b = 1 } }, growing:value())
  end)

  it("makes a root number whole at the end", function()
    local growing = core.growing()
    assert.is_nil(growing:feed "12")
    assert.is_nil(growing:value())
    assert.are.same({ "", true }, { growing:finish() })
    assert.are.equal(12, growing:value())
    assert.is_nil(growing:finish())
    assert.are.equal("whole", (growing:state()))
    growing = core.growing()
    growing:feed '"a'
    assert.are.equal("a", growing:value())
    assert.is_nil(growing:finish())
    assert.are.equal("open", (growing:state()))
  end)

  it("tells the text that is wrong from the one that is cut and the one that goes on", function()
    local cases = {
      { '{"a":tru', "open" }, { '{"a":trux', "not_json", 8 }, { "[1,]", "not_json", 3 }, { "{} \n", "whole" },
      { "{} {}", "whole", 3 }, { "[[[[", "limit", 3, depth = 3 }, { '["abc"]', "limit", 5, bytes = 5 },
      { "```json\n[1]\n```", "whole", fence = true }, { "```json\n[1]\n```", "not_json", 0 },
    }
    for _, case in ipairs(cases) do
      for n = 1, 20, 19 do
        local growing = feed(core.growing { depth = case.depth, bytes = case.bytes, fence = case.fence }, case[1], n)
        assert.are.same({ case[1], case[2], case[3] }, { case[1], growing:state() })
      end
    end
  end)

  it("ends for good with bytes that can be no JSON, and keeps what it has", function()
    local growing = core.growing()
    assert.are.same({ "", false }, { growing:feed '{"a":1,"b":"x","c":?' })
    for _ = 1, 2 do
      assert.are.same({ "not_json", 19 }, { growing:state() })
      assert.are.same({ a = 1, b = "x" }, growing:value())
      assert.is_nil(growing:feed '2}')
      assert.is_nil(growing:finish())
    end
  end)

  it("has as many levels as an answer", function()
    local deep = ("["):rep(core.depth_max)
    local growing = feed(core.growing { depth = 100000 }, deep, 50)
    assert.are.equal("open", (growing:state()))
    growing:feed "["
    assert.are.same({ "limit", core.depth_max }, { growing:state() })
  end)

  it("takes methods with a colon, and sensible arguments", function()
    assert.are.equal("self", raised(core.growing().feed, "x").field)
    assert.has_error(function() core.growing():feed {} end)
    assert.has_error(function() core.growing(1) end)
  end)
end)

describe("a string that grows", function()
  local TEXT = ("plain text, \\n and \\u20ac "):rep(2000)

  it("stands in its place but for a thousandth, and whole when it is asked for", function()
    local growing, decoded = core.growing(), core.decode('"' .. TEXT .. '"')
    growing:feed '{"a":["'
    local list = growing:value().a
    local lacked, most = 0, 0
    feed(growing, TEXT, 4, function(_, i)
      local shown = list[1]
      assert(decoded:sub(1, #shown) == shown, "no prefix")
      if i % 1000 ~= 0 then return end
      local all = growing:value().a[1]
      assert(decoded:sub(1, #all) == all, "no prefix")
      lacked = #all - #shown
      most = math.max(most, lacked)
      assert(lacked <= math.max(4, #all / 1000 + 4), "lacks too much")
    end)
    assert.is_true(most > 4, "a renewal at each piece")
    growing:feed '"]}'
    assert.is_true(list[1] == decoded)
  end)

  it("of few bytes lacks nothing", function()
    local growing = core.growing()
    growing:feed '["'
    local list = growing:value()
    feed(growing, ("x"):rep(1000), 1, function(_, i) assert.are.equal(i, #list[1]) end)
  end)
end)

-- Bytes that Lua allocates while f runs, with the collector stopped.
local function allocated(f)
  collectgarbage()
  collectgarbage "stop"
  local before = collectgarbage "count"
  f()
  local after = collectgarbage "count"
  collectgarbage "restart"
  return (after - before) * 1024
end

describe("the memory of a growing value", function()
  -- Lua's table of short strings doubles when it is full: strings that are held keep that out of what is measured.
  local held -- luacheck: ignore held
  setup(function()
    held = {}
    for i = 1, 150000 do held[i] = "held " .. i end
  end)
  teardown(function()
    held = nil
    for _ = 1, 8 do collectgarbage() end -- each halves the table of strings
  end)

  local SHAPES = {
    { "a long string", '{"a":"', "plain text of a string ", '"}' },
    { "many members", '{"a":0', ',"#":1', "}" },
    { "many elements", "[0", ',{"n":[1,"two"]}', "]" },
    { "a string under a long key", '{"' .. ("key"):rep(5000) .. '":"', "text of it", '"}' },
    { "elements under a long key", '{"' .. ("key"):rep(5000) .. '":[0', ",123", "]}" },
  }

  for _, shape in ipairs(SHAPES) do
    it("is linear in pieces of 4 bytes: " .. shape[1], function()
      local function cost(n)
        local list, text = {}, { shape[2] }
        for i = 1, n // #shape[3] do text[i + 1] = (shape[3]:gsub("#", tostring(i * 7919 % 10000019))) end
        text = table.concat(text) .. shape[4]
        for i = 1, #text, 4 do list[#list + 1] = text:sub(i, i + 3) end
        local growing = core.growing()
        return allocated(function()
          for i = 1, #list do growing:feed(list[i]) end
          assert(growing:state() == "whole")
        end)
      end
      local once, twice = cost(50000), cost(100000)
      assert.is_true(twice < 2.4 * once, ("%d and %d bytes"):format(once, twice))
    end)
  end

  for _, shape in ipairs(SHAPES) do
    it("is at most four times that of the value, at any time: " .. shape[1], function()
      local list, text = {}, { shape[2] }
      for i = 1, 100000 // #shape[3] do text[i + 1] = (shape[3]:gsub("#", tostring(i * 7919 % 10000019))) end
      text = table.concat(text) .. shape[4]
      for i = 1, #text, 4 do list[#list + 1] = text:sub(i, i + 3) end
      local function in_use() -- bytes
        collectgarbage()
        return collectgarbage "count" * 1024
      end
      in_use()
      local before = in_use()
      local value = core.decode(text)
      local size = in_use() - before
      assert.is_table(value)
      value = nil -- luacheck: ignore value
      before = in_use()
      local growing, most = core.growing(), 0
      for i = 1, #list do
        growing:feed(list[i])
        if i % 2500 == 0 then most = math.max(most, in_use() - before) end
      end
      assert.are.equal("whole", growing:state())
      assert.is_true(most <= 4 * size, ("%d bytes for a value of %d"):format(most, size))
    end)
  end

  it("is given back when nothing holds it", function()
    local kept = setmetatable({}, { __mode = "k" })
    do
      local growing = core.growing()
      growing:feed '{"a":["x'
      kept[growing], kept[growing:value()] = true, true
    end
    collectgarbage()
    assert.is_nil(next(kept))
  end)
end)

describe("a finalizer that uses a growing value", function()
  it("finds it in use, or works on it in its turn", function()
    local growing, refused, ran, armed = core.growing(), 0, 0, true
    local function arm()
      setmetatable({}, { __gc = function()
        if not armed then return end
        ran = ran + 1
        local ok, err = pcall(growing.feed, growing, " ")
        if not ok then
          assert(err.class == "ArgumentError" and err.message:find "in use", tostring(err))
          refused = refused + 1
        end
        arm()
      end })
    end
    for _ = 1, 3 do arm() end
    local text = {}
    for i = 1, 2000 do text[i] = ('{"key%d":["text",{"n":%d}]}'):format(i, i) end
    text = "[" .. table.concat(text, ",") .. "]"
    local whole, rounds = core.encode(core.decode(text)), 0
    while rounds < 20 or refused == 0 and rounds < 2000 do
      growing = core.growing()
      growing:feed(text)
      assert.are.equal("whole", (growing:state()))
      assert.are.equal(whole, core.encode(growing:value()))
      rounds = rounds + 1
    end
    armed = false
    assert.is_true(ran > 0 and refused > 0)
  end)
end)
