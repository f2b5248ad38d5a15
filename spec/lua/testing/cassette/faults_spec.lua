-- Cassettes: faults that are laid over their answers.

local core = require "koine.core"
local http = require "koine.net.http"
local kit = require "spec.lua.testing.cassette.kit"
local raised = require "spec.support.raised"
local streamed = require "koine.net.streamed"

describe("a fault", function()
  before_each(kit.begin)
  after_each(kit.restore)

  it("is laid over an answer at any byte", function()
    kit.write { kit.exchange("Hi.", kit.response("Hel", "lo")) }
    local function play(fault)
      local tape = kit.open { mode = "replay" }
      tape:fault(1, fault)
      local r, err = kit.claude(tape, { clock = tape:clock(), timeout = { first_byte = 5, idle = 5 } })
        :chat("Hi.", { stream = true })
      return r and r:text() or err.kind
    end
    local whole = #kit.response("Hel", "lo").body
    assert.are.equal("connect", play { reset_after = 0 })
    assert.are.equal("timeout", play { stall_after = 0 })
    for n = 1, whole - 1, 60 do
      assert.are.equal("stream_truncated", play { truncate_after = n })
      assert.are.equal("stream_truncated", play { end_after = n })
      assert.are.equal("timeout", play { stall_after = n })
    end
    assert.are.equal("timeout", play { delay_ms = 6000 })
    assert.are.equal("Hello", play { delay_ms = 4000 })
  end)

  it("of another reader than a chat's, too", function()
    kit.write { { request = { method = "GET", url = "http://localhost/x" }, response = { status = 200,
      headers = { ["content-type"] = "text/event-stream" }, body = "data: a\n\ndata: b\n\n" } } }
    local tape = kit.open { mode = "replay" }
    tape:fault(1, { truncate_after = 9 })
    local answer <close> = assert(streamed.open { url = "http://localhost/x", transport = tape })
    assert.are.equal("a", answer:record().data)
    assert.are.equal("stream_truncated", select(2, answer:record()).kind)
  end)

  it("that delays is waited for at every speed, also beside another one", function()
    local response = kit.response("Hel", "lo")
    response.chunks = core.array { { 30, 100 }, { 60, #response.body - 100 } }
    kit.write { kit.exchange("Hi.", response) }
    for _, speed in ipairs { 0, 1, 10, 1e6 } do
      for _, more in ipairs { {}, { truncate_after = 50 }, { reset_after = 0 }, { end_after = 0 } } do
        local tape = kit.open { mode = "replay", speed = speed }
        more.delay_ms = 600000
        tape:fault(1, more)
        local _, err = kit.claude(tape, { timeout = { first_byte = 0.005 } }):chat("Hi.", { stream = true })
        assert.are.same({ "timeout", "first_byte" }, { err.kind, err.code }, "speed " .. speed)
      end
    end
    local tape = kit.open { mode = "replay", speed = 1e6 }
    tape:fault(1, { delay_ms = 5 })
    assert.are.equal("Hello", assert(kit.claude(tape):chat("Hi.", { stream = true })):text())
    tape = kit.open { mode = "replay" }
    tape:fault(1, { delay_ms = 2, reset_after = 0 })
    assert.are.equal("connect", select(2, kit.claude(tape):chat("Hi.", { stream = true })).kind)
  end)

  it("that delays is waited for by answers without a body, and by errors", function()
    local asked = { method = "GET", url = "http://localhost/x" }
    for _, response in ipairs { { status = 204 }, { error = { kind = "connect" } } } do
      kit.write { { request = asked, response = response } }
      local tape = kit.open { mode = "replay" }
      tape:fault(1, { delay_ms = 600000 })
      local _, err = http.send { url = asked.url, transport = tape, timeouts = { first_byte = 0.005 } }
      assert.are.equal("timeout", err.kind)
    end
  end)

  it("is refused where it is none, or has two ends", function()
    kit.write { kit.exchange("Hi.", kit.response "Hello") }
    local tape = kit.open { mode = "replay" }
    local function refusal(...)
      local err = raised(tape.fault, tape, ...)
      return err.field, err.message:match "fault: .*$"
    end
    for got, fault in pairs { ["an empty table"] = {},
      ["reset_after and end_after"] = { end_after = 2, reset_after = 1 },
      ["truncate_after and stall_after"] = { stall_after = 1, truncate_after = 1, delay_ms = 1 } } do
      local field, message = refusal(1, fault)
      assert.are.equal("fault", field)
      assert.are.equal("fault: delay_ms, one of reset_after, truncate_after, stall_after, end_after, or delay_ms and "
        .. "one of them expected, got " .. got, message)
    end
    assert.are.equal("i", (refusal(2, { delay_ms = 1 })))
    assert.are.equal("fault.reset_after", (refusal(1, { reset_after = -1 })))
    tape:fault(1, { delay_ms = 5, stall_after = 2 })
    tape:fault(1)
    assert.are.equal("Hello", assert(kit.claude(tape):chat("Hi.", { stream = true })):text())
  end)

  it("is refused by a cassette that plays nothing", function()
    for _, mode in ipairs { "auto", "record", "extend", "live" } do
      local tape <close> = kit.open { mode = mode }
      local err = raised(tape.fault, tape, 1, { delay_ms = 5 })
      assert.are.equal("fault", err.field)
      local words = "fault: a cassette that plays expected, got one in the mode %s that plays nothing"
      assert.is_truthy(err.message:find(words:format(mode), 1, true), err.message)
      tape:fault(1, nil)
    end
    local tape = kit.open { mode = "replay" } -- requests say that there is no file
    tape:fault(1, { delay_ms = 5 })
    kit.write { kit.exchange("Hi.", kit.response "Hello") }
    tape = kit.open { mode = "extend" }
    tape:fault(1, { reset_after = 0 })
    assert.are.equal("connect", select(2, kit.claude(tape):chat("Hi.", { stream = true })).kind)
  end)

  it("breaks its exchange each time that this is played", function()
    kit.write { kit.exchange("Hi.", kit.response "one"), kit.exchange("Hi.", kit.response "two") }
    local function play(repeats)
      local tape = kit.open { mode = "replay", repeats = repeats }
      tape:fault(1, { reset_after = 0 })
      local claude = kit.claude(tape, { clock = tape:clock(), retry = { max = 1 } })
      return claude:chat("Hi.", { stream = true })
    end
    assert.are.equal("two", assert(play()):text())
    kit.write { kit.exchange("Hi.", kit.response "one") }
    local _, err = play(true)
    assert.are.same({ "connect", 2 }, { err.kind, #err.attempts })
    assert.is_truthy(err.message:find("the connection was reset", 1, true))
    _, err = play()
    assert.are.equal("cassette", err.code)
  end)
end)
