-- What an observer is told of prompts, and the traceparent that goes out with them.

local core = require "koine.core"
local kit = require "spec.lua.protocol.acp.kit"
local koine = require "koine"
local observed = require "spec.lua.data.observer.kit"

local TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
local TRACEPARENT = ("00-%s-%s-01"):format(TRACE, SPAN)
local ASK = [[local function allowed(call)
  return ask("session/request_permission", { sessionId = id, toolCall = call, options = OPTIONS })
end
]]
local ASKS = ASK .. [[
  allowed({ toolCallId = "t", title = "Write", kind = "edit" })
  allowed({ toolCallId = "u", title = "Read", kind = "read" })
  text(id, "secret words") return "end_turn"]]

describe("an observed prompt", function()
  local bench

  before_each(function() bench = kit.bench() end)
  after_each(function() bench:close() end)

  it("tells the agent, the session, how it ended and what was asked", function()
    local observer, records = observed.keep()
    local _, result = bench:turn(ASKS, { permission = "read", observer = observer },
      { parent = TRACEPARENT })
    assert.are.equal("completed", result.status)
    observed.check(records, { [SPAN] = true })
    assert.are.same({ "prompt start", "wait start", "wait end", "wait start", "wait end", "prompt end" },
      observed.lines(records))
    local start, over = records[1], records[6]
    assert.are.same({ TRACE, SPAN, "s1" }, { start.trace, start.parent, start.session })
    assert.is_string(start.agent)
    assert.are.equal("permission", records[2].what)
    assert.are.same({ "end_turn", 2, 1 }, { over.stop_reason, over.permissions_asked, over.permissions_denied })
    local sent = bench:heard("session/prompt")[1].params._meta
    assert.are.same({ traceparent = ("00-%s-%s-01"):format(TRACE, start.id) }, sent)
    assert.is_nil(core.encode(records):find("secret", 1, true))
  end)

  it("passes on a parent where nobody observes, and says nothing without one", function()
    local session = bench:session [[prompt(function() return "end_turn" end)]]
    assert(session:prompt("go", { parent = TRACEPARENT }))
    assert(session:prompt "go")
    local heard = bench:heard "session/prompt"
    assert.are.same({ traceparent = TRACEPARENT }, heard[1].params._meta)
    assert.is_nil(heard[2].params._meta)
  end)

  it("ends once where it is cancelled, left, refused, or the agent is gone", function()
    local observer, records = observed.keep()
    local session, connection = bench:session(kit.OPTIONS .. "prompt(function(words, id)" .. ASK .. [[
      if words == "die" then os.exit(3) end
      for i = 1, 3 do text(id, "part", random_name()) end
      if words == "ask" then allowed({ toolCallId = "t", title = "T", kind = "edit" }) end
      return words == "refuse" and "refusal" or "end_turn" end)]],
      { observer = observer, permission = function() koine.sleep(kit.SAFETY) end })
    assert(session:prompt "refuse")
    local turn = assert(session:start "go")
    turn:close()
    local ran, problem = pcall(session.prompt, session, "go", { on_event = function() error "stop" end })
    assert.is_false(ran, problem)
    koine.run(function()
      local asked = assert(session:start "ask")
      for event in asked do
        if event.kind == "tool_call" then break end
      end
      asked:close()
    end)
    assert.is_nil((session:prompt "die"))
    connection:close()
    assert.is_nil((session:prompt "go"))
    observed.check(records)
    local ends = {}
    for _, record in ipairs(observed.of(records, "prompt", "end")) do
      ends[#ends + 1] = record.stop_reason or record.error.kind
    end
    assert.are.same({ "refusal", "cancelled", "cancelled", "cancelled", "connect", "cancelled" }, ends)
  end)
end)
