-- The binding's conversions: Lua values to JSON and back, and where errors point.
local core = require "koine.core"
local generator = require "spec.support.generator"
local raised_as = require("spec.support.raised").as

local function raised(f, ...) return raised_as("ArgumentError", f, ...) end

describe("core.encode", function()
  it("keeps integers, floats, null, arrays and objects apart", function()
    assert.are.equal("[1,1.0,-9223372036854775808,9223372036854775807]",
      core.encode { 1, 1.0, math.mininteger, math.maxinteger })
    assert.are.equal("0.30000000000000004", core.encode(0.1 + 0.2))
    assert.are.equal('{"a":[],"b":{},"c":null}', core.encode { a = core.array {}, b = {}, c = core.null })
  end)

  it("sorts keys by bytes", function()
    assert.are.equal('{"B":1,"a":2,"aa":3,"b":4,"é":5}', core.encode { b = 4, aa = 3, a = 2, B = 1, ["é"] = 5 })
  end)

  it("repairs text that is no UTF-8", function()
    assert.are.equal('"a\u{FFFD}b"', core.encode "a\xFFb")
    assert.are.equal('{"\u{FFFD}":"\\u0000"}', core.encode { ["\xC0"] = "\0" })
  end)

  it("writes no deeper than it reads", function()
    local deep = "x"
    for _ = 1, 192 do deep = { deep } end
    assert.are.same(deep, core.decode(core.encode(deep)))
    assert.matches("192", raised(core.encode, { deep }).expected)
  end)

  it("names the place of what JSON cannot say", function()
    assert.are.equal("value.a.b[2]", raised(core.encode, { a = { b = { 1, print } } }).field)
    assert.are.equal("value.x", raised(core.encode, { x = 0 / 0 }).field)
    assert.are.equal("value", raised(core.encode, { 1, nil, 3, x = 1 }).field)
    assert.are.equal("value", raised(core.encode, { [1] = 1, [3] = 3 }).field)
    assert.are.equal("value", raised(core.encode, { [true] = 1 }).field)
    local cycle = {}
    cycle.again = cycle
    assert.matches("192", raised(core.encode, cycle).expected)
  end)

  it("refuses an array with a hole, marked or not, whatever its length is said to be", function()
    local late = { 1 }
    late[3] = 3
    for _, holes in ipairs { late, { 1, nil, 3 }, { [2] = 1 }, { [0] = 0, 1 }, { 1, [1.5] = 2 } } do
      assert.are.equal("value", raised(core.encode, holes).field)
      assert.matches("^value%[[123]%]$", raised(core.encode, core.array(holes)).field)
    end
    assert.are.equal("[1]", core.encode(core.array { 1, x = 2 }))
  end)

  it("reads an array that was made in any order as one that its keys were counted of", function()
    local arrays, holes = 0, 0
    for seed = 1, 2000 do
      local pick, t, n, hole = generator(seed), {}, 0, nil
      for _ = 1, pick(8) do
        local key = pick(20) == 1 and 0 or pick(20) == 1 and 1.5 or pick(pick(8) == 1 and 6 or 3)
        t[key] = pick(9) > 1 and key or nil
      end
      if pick(4) == 1 then t.name = true end
      for key in next, t do n = n + (type(key) == "number" and 1 or 0) end
      for i = n, 1, -1 do hole = t[i] == nil and i or hole end
      local ok, got = pcall(core.encode, core.array(t))
      assert.are.equal(hole and "value[" .. hole .. "]" or "[" .. table.concat(t, ",", 1, n) .. "]",
        not ok and got.field or got, "seed " .. seed)
      arrays, holes = arrays + (hole and 0 or 1), holes + (hole and 1 or 0)
    end
    assert.is_true(arrays > 300 and holes > 300)
  end)

  it("runs no metamethod", function()
    local t = setmetatable({}, { __index = function() error "read" end, __pairs = function() error "walked" end })
    assert.are.equal("{}", core.encode(t))
  end)

  it("knows the marks of other libraries once they are registered", function()
    local mt = {}
    core.array_marks[mt] = true
    assert.are.equal("[]", core.encode(setmetatable({}, mt)))
    core.array_marks[mt] = nil
    assert.are.equal("{}", core.encode(setmetatable({}, mt)))
  end)

  it("knows the marks of lua-cjson from when the program has loaded it", function()
    local cjson, safe = package.loaded.cjson, package.loaded["cjson.safe"]
    finally(function() package.loaded.cjson, package.loaded["cjson.safe"] = cjson, safe end)
    for _, name in ipairs { "cjson", "cjson.safe" } do
      local array, empty = {}, {}
      package.loaded[name] = false
      assert.are.equal("{}", core.encode(setmetatable({}, array)))
      package.loaded[name] = { array_mt = array, empty_array_mt = empty, null = core.null }
      assert.are.equal("[]", core.encode(setmetatable({}, array)))
      assert.are.equal('{"list":[]}', core.encode { list = setmetatable({}, empty) })
      assert.are.equal("{}", core.encode(setmetatable({}, {})))
    end
  end)

  it("leaves lua-cjson to the program", function()
    local run = io.popen(("%s -e 'require \"koine\"; print(package.loaded.cjson)'"):format(os.getenv "KOINE_LUA"))
    assert.are.equal("nil\n", run:read "a")
    run:close()
  end)
end)

describe("core.decode", function()
  it("gives back what encode wrote, byte for byte", function()
    local text = '{"a":[],"b":{},"c":null,"d":[1,-2.5,1e300,true,false,"x\\ny"],"e":9223372036854775807}'
    assert.are.equal(text, core.encode(core.decode(text)))
  end)

  it("never gives a wrong number", function()
    assert.are.equal("9223372036854775808", core.decode "9223372036854775808")
    assert.are.equal("1e999", core.decode "1e999")
    assert.are.same({ 2.0 ^ 63, { a = -2.0 ^ 64, b = 1 } }, core.decode(
      '[9223372036854775808,{"a":-18446744073709551616,"b":1}]', true))
    assert.are.equal("float", math.type(core.decode("9223372036854775808", true)))
    local none, err = core.decode('{"a":[1e999]}', true)
    assert.is_nil(none)
    assert.are.equal("JSON: a number is too large", err.message)
    assert.are.equal("integer", math.type(core.decode "25"))
    assert.are.equal("float", math.type(core.decode "25.0"))
  end)

  it("reports where the text is no JSON", function()
    for text, kind in pairs {
      ["{"] = "protocol", ["[1,]"] = "protocol", ["{'a':1}"] = "protocol", [""] = "protocol", ["1 2"] = "protocol",
      ['"\1"'] = "protocol", ["nul"] = "protocol", ["01"] = "protocol", [("["):rep(100000)] = "limit",
    } do
      local value, err = core.decode(text)
      assert.is_nil(value)
      assert.are.equal(kind, err.kind)
    end
  end)

  it("is not fooled by a comma-decimal locale", function()
    local old = os.setlocale(nil, "numeric")
    for _, name in ipairs { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8" } do
      if os.setlocale(name, "numeric") then break end
    end
    local text, value = core.encode(0.5), core.decode "0.5"
    os.setlocale(old, "numeric")
    assert.are.equal("0.5", text)
    assert.are.equal(0.5, value)
  end)
end)

-- Finalizers run wherever Lua allocates, in the middle of the core's functions too.
describe("a schema as JSON text", function()
  it("keeps the order of its properties", function()
    local made = core.read_schema '{"properties":{"b":{"properties":{"z":1,"y":[]}},"a":{}}}'
    assert.are.same({ "b", "a" }, made.propertyOrdering)
    assert.are.same({ "z", "y" }, made.properties.b.propertyOrdering)
    assert.are.equal(core.array_mt, getmetatable(made.propertyOrdering))
    assert.are.equal(core.array_mt, getmetatable(made.properties.b.properties.y))
    local none, err = core.read_schema '{"a":'
    assert.is_nil(none)
    assert.are.equal("protocol", err.kind)
    assert.is_nil((core.read_schema(("["):rep(300))))
  end)

  it("may be a tool's parameters", function()
    local function check(parameters)
      return core.check { model = "m", messages = { { role = "user", content = "x" } },
        tools = { { name = "f", parameters = parameters } } }
    end
    check '{"type":"object"}'
    assert.are.equal("tools[1].parameters.type", raised(check, '{"type":"string"}').field)
    for _, text in ipairs { '"a"', "true", "", '{"type":', ('{"not":'):rep(300) } do
      assert.are.equal("tools[1].parameters", raised(check, text).field)
    end
  end)
end)

describe("a finalizer that uses the core", function()
  local ran, armed

  local function arm()
    setmetatable({}, { __gc = function()
      if not armed then return end
      ran = ran + 1
      core.encode { ("overwritten "):rep(500) }
      core.decode('["' .. ("over\\nwritten"):rep(500) .. '"]')
      arm()
    end })
  end

  before_each(function()
    ran, armed = 0, true
    for _ = 1, 3 do arm() end
  end)

  after_each(function() armed = false end)

  it("leaves the value alone that is being decoded", function()
    local parts = {}
    for i = 1, 500 do parts[i] = ('{"key%d":["a\\nb",{"c":"d\\t%d"}]}'):format(i, i) end
    local text = "[" .. table.concat(parts, ",") .. "]"
    -- How soon a cycle ends depends on what the suite holds already: the larger, the later.
    local before, decoded = ran, 0
    while decoded < 200 or ran == before and decoded < 20000 do
      local value = core.decode(text)
      for i = 1, 500 do
        local list = value[i]["key" .. i]
        if list[1] ~= "a\nb" or list[2].c ~= "d\t" .. i then error("wrong in element " .. i) end
      end
      decoded = decoded + 1
    end
    assert.is_true(ran > before)
  end)

  it("is told so when it runs after the core was closed with its state", function()
    local name = os.tmpname()
    local file = assert(io.open(name, "w"))
    file:write [[
      local core
      local older = setmetatable({}, { __gc = function() print(pcall(core.encode, { 1 })) end })
      core = require "koine.core"
      core.engine()
      print(older ~= nil and core.encode { 1 })
    ]]
    file:close()
    local child = assert(io.popen((os.getenv "KOINE_LUA" or "lua5.4") .. " " .. name))
    local said = child:read "a"
    child:close()
    os.remove(name)
    assert.matches("^%[1%]\nfalse\t[^\n]*Koine was closed with its Lua state\n$", said)
  end)

  it("leaves the Response alone that is being made", function()
    local content = {}
    for i = 1, 500 do content[i] = { type = "text", text = "block " .. i } end
    for _ = 1, 500 do
      local response = core.response { content = content, model = "m", stop_reason = "end_turn" }
      if response.content[500].text ~= "block 500" then error "wrong" end
    end
    assert.is_true(ran > 0)
  end)
end)

describe("core.engine", function()
  it("is one per state, pollable, and idle at first", function()
    local engine = core.engine()
    assert.are.equal(engine, core.engine())
    assert.are.equal("r", engine:events())
    assert.is_true(engine:pollfd() >= 0)
    assert.are.same({}, (engine:step(0)))
    assert.matches("^koine%.engine %(%d+ in flight%)$", tostring(engine))
  end)
end)

describe("core.request", function()
  it("refuses what could smuggle a second header or line", function()
    local engine = core.engine()
    for _, bad in ipairs {
      { url = "http://127.0.0.1:1/a b" }, { url = "http://127.0.0.1:1/\r\nX: y" }, { url = "ftp://127.0.0.1/" },
      { url = "" },
      { url = "http://127.0.0.1:1/", headers = { ["x-a"] = "1\r\nx-b: 2" } },
      { url = "http://127.0.0.1:1/", headers = { ["x-a: 1\nx-b"] = "2" } },
      { url = "http://127.0.0.1:1/", headers = { ["x-a"] = "\0" } },
      { url = "http://127.0.0.1:1/", method = "GET / HTTP/1.1\r\nX:" },
    } do
      raised(core.request, engine, bad)
    end
  end)

  it("refuses more credentials than it can keep secret", function()
    local call = { url = "http://127.0.0.1:1/", secrets = {} }
    for i = 1, 16 do call.secrets[i] = "credential-" .. i end
    core.request(core.engine(), call):close()
    call.secrets[17] = "credential-17"
    assert.are.equal("headers", raised(core.request, core.engine(), call).field)
  end)
end)
