-- Cassettes: what each mode does with a file, without one, and with a request that is not in it; and the file itself.

local core = require "koine.core"
local environment = require "spec.support.environment"
local files = require "koine.data.files"
local kit = require "spec.lua.testing.cassette.kit"
local koine = require "koine"
local raised = require "spec.support.raised"
local served = require "spec.lua.net.served"

describe("a cassette's mode", function()
  before_each(kit.begin)
  after_each(kit.restore)

  -- Asks for "known" or "new": what the answer says, or the error's code.
  local function ask(tape, url, prompt)
    local r, err = kit.claude(tape, { base_url = url }):chat(prompt, { stream = true })
    return r and r:text() or err.code
  end

  -- What comes of a request in a mode, how many reached the server, whether the file then has it, and finish's results.
  local function try(mode, prompt, has_file)
    local came, asked, ok, err
    kit.serve({ kit.stream "live" }, function(url, count)
      if has_file then
        local exchange = kit.exchange("known", kit.response "recorded")
        exchange.request.url = url .. "/v1/messages"
        kit.write { exchange }
      end
      local tape = kit.open { mode = mode }
      came = ask(tape, url, prompt)
      ok, err = tape:finish()
      asked = count()
    end)
    local text = kit.text()
    local kept = text and #core.decode(text).exchanges or 0
    return { came, asked, kept, ok or err.code }
  end

  it("without a file", function()
    assert.are.same({ "cassette", 0, 0, "cassette" }, try("replay", "known", false))
    for _, mode in ipairs { "auto", "extend", "record" } do
      os.remove(kit.path)
      assert.are.same({ "live", 1, 1, true }, try(mode, "known", false), mode)
    end
    os.remove(kit.path)
    assert.are.same({ "live", 1, 0, true }, try("live", "known", false))
  end)

  it("with a file that has the request", function()
    for _, mode in ipairs { "replay", "auto", "extend" } do
      assert.are.same({ "recorded", 0, 1, true }, try(mode, "known", true), mode)
    end
    assert.are.same({ "live", 1, 1, true }, try("record", "known", true))
    assert.are.equal("known", kit.read().exchanges[1].request.json.messages[1].content[1].text)
    assert.is_truthy(kit.text():find("live", 1, true))
    assert.are.same({ "live", 1, 1, true }, try("live", "known", true))
    assert.is_truthy(kit.text():find("recorded", 1, true))
  end)

  it("with a file that has other requests", function()
    assert.are.same({ "cassette", 0, 1, "cassette" }, try("replay", "new", true))
    assert.are.same({ "cassette", 0, 1, "cassette" }, try("auto", "new", true))
    assert.are.same({ "live", 1, 2, true }, try("extend", "new", true))
    assert.are.same({ "live", 1, 1, true }, try("record", "new", true))
  end)

  it("of extend adds to what other cassettes added meanwhile, and to nothing that is broken", function()
    kit.serve({ kit.stream "one", kit.stream "two", kit.stream "three" }, function(url)
      local tapes = {}
      for i = 1, 3 do tapes[i] = kit.open { mode = "extend" } end
      for i, prompt in ipairs { "first", "second", "third" } do ask(tapes[i], url, prompt) end
      assert(tapes[1]:finish())
      assert(tapes[2]:finish())
      local exchanges = kit.read().exchanges
      assert.are.equal(2, #exchanges)
      assert.are.equal("second", exchanges[2].request.json.messages[1].content[1].text)
      assert(files.write(kit.path, "{"))
      assert.are.equal("cassette", select(2, tapes[3]:finish()).code)
      assert.are.equal("{", kit.text())
    end)
  end)

  it("is the environment's, and replay where CI is set", function()
    local function mode_of(variables, given)
      environment.replace(variables)
      return kit.open({ mode = given }).mode
    end
    assert.are.equal("auto", mode_of({}, nil))
    assert.are.equal("record", mode_of({}, "record"))
    assert.are.equal("replay", mode_of({ CI = "true" }, nil))
    assert.are.equal("replay", mode_of({ CI = "1" }, "extend"))
    assert.are.equal("extend", mode_of({ CI = "true", KOINE_CASSETTE = "extend" }, "replay"))
    assert.are.equal("live", mode_of({ KOINE_CASSETTE = "live" }, nil))
    environment.replace { KOINE_CASSETTE = "rec" }
    assert.are.equal("KOINE_CASSETTE", raised(kit.open, {}).field)
  end)

  it("of replay never opens a connection, whatever is wrong with the file", function()
    for _, text in ipairs { "{", '{"format":"other","exchanges":[]}', '{"format":"koine.cassette.v1"}',
      '{"format":"koine.cassette.v1","exchanges":[{}]}' } do
      assert(files.write(kit.path, text))
      kit.serve({ kit.stream "live" }, function(url, count)
        for _, mode in ipairs { "replay", "auto", "extend" } do
          local tape <close> = kit.open { mode = mode }
          assert.are.equal("cassette", ask(tape, url, "known"))
          local ok, err = tape:finish()
          assert.is_nil(ok)
          assert.is_truthy(err.message:find(kit.path, 1, true))
        end
        assert.are.equal(0, count())
      end)
      assert.are.equal(text, kit.text())
    end
  end)

  it("needs no key to replay, and none that is constant to record", function()
    kit.write { kit.exchange("known", kit.response "recorded") }
    environment.replace {}
    local tape = kit.open { mode = "replay" }
    assert.are.equal("recorded", assert(kit.claude(tape):chat("known", { stream = true })):text())
    assert(tape:finish())
    tape = kit.open { mode = "record" }
    assert.is_nil(tape:key "ANTHROPIC_API_KEY")
    local _, err = kit.claude(tape):chat "known"
    assert.are.equal("auth", err.kind)
  end)
end)

describe("a cassette's file", function()
  before_each(kit.begin)
  after_each(kit.restore)

  it("stays as it was until finish: a program that dies before leaves it", function()
    kit.write { kit.exchange("known", kit.response "old") }
    local old = kit.text()
    kit.serve({ kit.stream "live" }, function(url)
      local tape = kit.open { mode = "record" }
      assert(kit.claude(tape, { base_url = url }):chat("new", { stream = true }))
      assert.are.equal(old, kit.text())
      tape:close()
      assert.are.equal(old, kit.text())
    end)
    assert.are.equal(old, kit.text())
  end)

  it("of a later version is read, and its unknown fields are kept", function()
    local exchange = kit.exchange("known", kit.response "recorded")
    exchange.note, exchange.request.more, exchange.response.later = "by hand", { 1 }, { a = core.null }
    assert(files.write(kit.path, core.encode { format = "koine.cassette.v1.2", exchanges = { exchange },
      tool = "other" }))
    kit.serve({ kit.stream "live" }, function(url)
      local tape = kit.open { mode = "extend" }
      assert(kit.claude(tape, { base_url = url }):chat("new", { stream = true }))
      assert.are.equal("recorded", assert(kit.claude(tape):chat("known", { stream = true })):text())
      assert(tape:finish())
    end)
    local read = kit.read()
    assert.are.same({ "other", "by hand", 2 }, { read.tool, read.exchanges[1].note, #read.exchanges })
    assert.are.same({ { 1 }, core.null }, { read.exchanges[1].request.more, read.exchanges[1].response.later.a })
    assert(files.write(kit.path, '{"format":"koine.cassette.v2","exchanges":[]}'))
    assert.are.equal("cassette", select(2, kit.open({ mode = "replay" }):finish()).code)
  end)

  it("has sorted keys, a line for each member, and one exchange after the other", function()
    kit.serve({ served.answer(200, kit.plain "Hi.") }, function(url)
      local tape = kit.open()
      assert(kit.claude(tape, { base_url = url }):chat "Hello?")
      assert(tape:finish())
    end)
    local lines = kit.text()
    assert.is_truthy(lines:find('\n    "method": "POST",\n    "url": "http://127.0.0.1:%d+/v1/messages"\n'))
    assert.is_truthy(lines:find '^{\n "exchanges": %[\n  {\n   "request": {\n')
    assert.is_nil(lines:find "\r")
    assert.is_truthy(lines:find "}\n$")
  end)

  it("is not written where nothing was recorded", function()
    for _, mode in ipairs { "auto", "record" } do
      local tape = kit.open { mode = mode }
      local ok, err = tape:finish()
      assert.is_nil(ok)
      assert.is_truthy(err.message:find("nothing was recorded", 1, true))
      assert.is_nil(kit.text())
    end
    kit.write {}
    local _, err = kit.claude(kit.open { mode = "auto" }):chat "x"
    assert.is_truthy(err.message:find("(delete the file, or KOINE_CASSETTE=record records anew)", 1, true))
  end)

  it("names what was not played", function()
    kit.write { kit.exchange("a", kit.response "1"), kit.exchange("b", kit.response "2") }
    local tape = kit.open { mode = "replay" }
    assert(kit.claude(tape):chat("b", { stream = true }))
    local ok, err = tape:finish()
    assert.is_nil(ok)
    assert.is_truthy(err.message:find("1 of 2 exchanges were not played: exchanges[1] POST https://api.anthropic.com",
      1, true))
    assert.are.equal(err, select(2, tape:finish()))
  end)

  it("is opened with options that make sense", function()
    assert.are.equal("path", raised(koine.testing.cassette.open, 1).field)
    assert.are.equal("mode", raised(kit.open, { mode = "rewind" }).field)
    assert.are.equal("speed", raised(kit.open, { speed = -1 }).field)
    assert.are.equal("match", raised(kit.open, { match = 1 }).field)
    assert.are.equal("spede", raised(kit.open, { spede = 1 }).field)
  end)
end)
