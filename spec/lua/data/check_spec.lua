local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local raised = require "spec.support.raised"

local nan = 0 / 0

-- Asserts that the checker keeps each value as it is.
local function keeps(c, ...)
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    assert.is_true(rawequal(value, c(value, "x")), errors.describe(value))
  end
end

-- Asserts that the checker raises for each value, with these words, and returns the last error.
local function refuses(c, expected, ...)
  local err
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    err = raised(c, value, "a.b")
    assert.are.same({ "ArgumentError", "argument", "a.b", expected }, { err.class, err.kind, err.field, err.expected })
  end
  return err
end

local function says(words, err) assert.is_truthy(tostring(err):find(words, 1, true), tostring(err)) end

describe("checkers of one value", function()
  it("keep what fits, and refuse what does not", function()
    local f, t = print, {}
    keeps(check.string, "", "a")
    refuses(check.string, "string", nil, 1, t)
    keeps(check.name, "a", " a ")
    refuses(check.name, "string with more than white space", nil, "", " \n", 1)
    keeps(check.nonempty, "a", " \n")
    refuses(check.nonempty, "non-empty string", nil, "", 1)
    keeps(check.text, "", "a\n")
    refuses(check.text, "string without NUL", "a\0", 1)
    keeps(check.path, "a")
    refuses(check.path, "path, a string without NUL", "", "a\0", nil)
    keeps(check.boolean, true, false)
    refuses(check.boolean, "true or false", nil, 0, "true")
    keeps(check.func, f)
    refuses(check.func, "function", nil, t)
    keeps(check.table, t)
    refuses(check.table, "table", nil, "a")
    keeps(check.any, t, false, core.null)
    refuses(check.any, "a value", nil)
  end)

  it("bound numbers", function()
    keeps(check.integer(0), 0, 7)
    assert.are.equal("integer", math.type(check.integer(0)(5.0, "x")))
    refuses(check.integer(0), "integer, 0 or more", -1, 0.5, nan, math.huge, "1", nil)
    keeps(check.integer(0, 9), 0, 9)
    refuses(check.integer(0, 9), "integer from 0 to 9", -1, 10)
    keeps(check.integer(), math.mininteger, math.maxinteger)
    refuses(check.integer(), "integer", 0.5)
    keeps(check.number(0, 2), 0, 0.5, 2)
    refuses(check.number(0, 2), "number from 0 to 2", -0.1, 2.1, nan, "1")
    refuses(check.number(0), "number, 0 or more", -1)
    refuses(check.number(nil, 5), "number, 5 or less", 9)
    refuses(check.integer(nil, 5), "integer, 5 or less", 9)
    keeps(check.number(), -math.huge, math.huge)
    refuses(check.number(nil, nil, "number of apples"), "number of apples", nan)
    keeps(check.positive, 0.1, math.huge)
    refuses(check.positive, "number, more than 0", 0, -1, nan, "1")
    keeps(check.seconds, 0, 0.5)
    refuses(check.seconds, "number of seconds, 0 or more", -1, nan, math.huge)
    keeps(check.time_limit, 0.5)
    refuses(check.time_limit, "seconds, more than 0", 0, nan, math.huge)
  end)

  it("say what belongs there in other words", function()
    local c = check.called(check.text, "path of a directory")
    keeps(c, "a")
    refuses(c, "path of a directory", 1, "a\0")
  end)

  it("know words", function()
    keeps(check.one_of { "a", "b", "c" }, "a", "c")
    refuses(check.one_of { "a", "b", "c" }, '"a", "b" or "c"', "d", 1, nil)
    refuses(check.one_of { "a" }, '"a"', "d")
  end)

  it("take one of several kinds", function()
    local c = check.either("string or array of names", check.string, check.list(check.name))
    keeps(c, "", "a")
    assert.are.same({ "a" }, c({ "a" }, "x"))
    refuses(c, "string or array of names", 1, nil)
    says("got a table with holes or other keys", refuses(c, "string or array of names", { a = 1 }))
    assert.are.equal("x[2]", raised(c, { "a", "" }, "x").field)
    assert.is_false(check.either("false or a table", check.boolean, check.table)(false, "x"))
  end)

  it("cut the slash at the end of a URL, which errors do not show", function()
    assert.are.equal("https://a.b/v1", check.url("https://a.b/v1/", "x"))
    for _, url in ipairs { "ftp://a", "http://", "http:///a", "http://a b", "http:/me:secret@a" } do
      says("got a string", refuses(check.url, "http:// or https:// URL", url))
    end
  end)

  it("find methods of tables and userdata", function()
    local c = check.method("close", "something that closes")
    keeps(c, { close = print }, io.stdout, setmetatable({}, { __index = { close = print } }))
    says("got a table", refuses(c, "something that closes", {}, { close = 1 }))
    says("got a string", refuses(c, "something that closes", "secret words"))
    refuses(c, "something that closes", nil, setmetatable({}, { __index = error }))
  end)

  it("show no credential", function()
    keeps(check.key, "k-1")
    says("got an empty string", refuses(check.key, "string without control characters or white space around it", ""))
    for _, key in ipairs { "secret\n", " secret", "secret " } do
      assert.is_nil(tostring(raised(check.key, key, "x")):find("secret", 1, true))
    end
    local c = check.secret(check.one_of { "a" })
    keeps(c, "a")
    says("got a string", refuses(c, '"a"', "b"))
  end)
end)

describe("checkers of tables", function()
  it("copy lists, and name the member that is bad", function()
    local given = { "a", "b" }
    local kept = check.list(check.string)(given, "x")
    assert.are.same(given, kept)
    assert.are_not.equal(given, kept)
    assert.are.equal(core.array_mt, getmetatable(check.list(check.string)({}, "x")))
    local err = raised(check.list(check.string), { "a", 1 }, "x")
    assert.are.same({ "x[2]", "string" }, { err.field, err.expected })
    for _, other in ipairs { { [2] = "a" }, { a = "a" }, { "a", n = 1 }, { [1.5] = "a" } } do
      says("got a table with holes or other keys", refuses(check.list(check.string), "array", other))
    end
    refuses(check.list(check.string, "array of words"), "array of words", "a", nil)
  end)

  it("copy maps, and name the member that is bad", function()
    local given = { a = 1, b = 2 }
    local kept = check.map(check.integer())(given, "x")
    assert.are.same(given, kept)
    assert.are_not.equal(given, kept)
    assert.are.equal("x.b", raised(check.map(check.integer()), { b = "c" }, "x").field)
    says("got a table with other keys than names", refuses(check.map(check.any), "table", { 1 }))
    refuses(check.map(check.any, "table of strings"), "table of strings", 1)
  end)

  it("check the members of records, absent ones where they are required or have a default", function()
    local c = check.record { name = check.required(check.name), n = check.default(check.integer(1), 5),
      list = check.default(check.list(check.any), {}), fresh = check.default(check.table, function() return {} end),
      other = check.string }
    local first, second = c({ name = "a" }, "x"), c({ name = "a" }, "x")
    assert.are.same({ name = "a", n = 5, list = {}, fresh = {} }, first)
    assert.are_not.equal(first.list, second.list)
    assert.are_not.equal(first.fresh, second.fresh)
    assert.are.same({ name = "a", n = 7, list = {}, fresh = {}, other = "b" },
      c({ name = "a", n = 7.0, other = "b" }, "x"))
    local err = raised(c, {}, "x")
    assert.are.same({ "x.name", "string with more than white space" }, { err.field, err.expected })
    says("got nothing", err)
    assert.are.equal("x.n", raised(c, { name = "a", n = 0 }, "x").field)
    err = raised(c, { name = "a", oter = 1 }, "x")
    assert.are.same({ "x.oter", "other" }, { err.field, err.expected })
    says("fresh, list, n, name, other", raised(c, { name = "a", quite = 1 }, "x"))
    refuses(c, "table", 1, nil)
  end)

  it("keep false, given or by default", function()
    local c = check.record { a = check.boolean, b = check.default(check.boolean, true),
      c = check.default(check.boolean, false) }
    assert.are.same({ a = false, b = false, c = false }, c({ a = false, b = false }, "x"))
  end)

  it("take inherited members, which may be overridden", function()
    local c = check.record { a = check.integer(), b = check.default(check.integer(), 5), c = check.string }
    local given = setmetatable({ a = 1 }, { __index = { a = 2, b = 3, other = true } })
    assert.are.same({ a = 1, b = 3 }, c(given, "x"))
  end)

  it("name options without a path", function()
    local c = check.options({ name = check.required(check.name), inner = check.record { n = check.integer() } },
      { hints = { title = "name" } })
    assert.are.same({ name = "a", inner = { n = 1 } }, c { name = "a", inner = { n = 1 } })
    assert.are.equal("name", raised(c, {}).field)
    assert.are.equal("inner.n", raised(c, { name = "a", inner = { n = "b" } }).field)
    local err = raised(c, { title = "a" })
    assert.are.same({ "title", "name" }, { err.field, err.expected })
    says('title: unknown option; did you mean "name"?', err)
    says("options: table expected, got a string", raised(c, "secret"))
    says("one: words expected, got nothing", raised(check.options({}, { path = "one", expected = "words" })))
    says("a: unknown field", raised(check.options({}, { what = "field" }), { a = 1 }))
    assert.are.equal("list[1].name", raised(c, {}, "list[1].").field)
    local both = { a = check.required(check.name), b = check.required(check.name) }
    assert.are.equal("a", raised(check.options(both), {}).field)
    local second = check.options(both, { first = { "b" } })
    assert.are.equal("b", raised(second, {}).field)
    assert.are.equal("b", raised(second, setmetatable({}, {})).field)
  end)

  it("always name the same of several faults: unknown names first, then in order", function()
    local members, bad, wrong = {}, {}, {}
    for i = 1, 20 do
      local name = ("n%02d"):format(21 - i)
      members[name], bad[name], wrong["x" .. name] = check.string, i, i
    end
    assert.are.equal("n01", raised(check.options(members), bad).field)
    assert.are.equal("n07", raised(check.options(members, { first = { "n07" } }), bad).field)
    assert.are.equal("a.n01", raised(check.record(members), bad, "a").field)
    assert.are.equal("a.n01", raised(check.map(check.string), bad, "a").field)
    for name, value in pairs(bad) do wrong[name] = value end
    assert.are.equal("xn01", raised(check.options(members), wrong).field)
    assert.are.equal("list", raised(check.list(check.string), { 1, nil, 3, n = 1 }, "list").field)
  end)

  it("tell arrays from other tables", function()
    for _, list in ipairs { {}, { 1 }, { 1, 2, 3 }, { false } } do assert.is_true(check.is_list(list)) end
    for _, other in ipairs { { a = 1 }, { [2] = 1 }, { [0] = 1 }, { 1, a = 2 }, { [1.5] = 1 }, "a" } do
      assert.is_false(check.is_list(other))
    end
  end)
end)
