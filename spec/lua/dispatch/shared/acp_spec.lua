-- Agents of other programs as the target of dispatchers on one store: a thread goes on wherever it is claimed.

local acp = require "spec.lua.protocol.acp.kit"
local koine = require "koine"

-- A session's words are in a file, which an agent reads when it takes the session up, and not again.
local AGENT = [[
agent.init.agentCapabilities = { sessionCapabilities = { resume = {} } }
local known = {}
agent.on["session/new"] = function() return { sessionId = random_name() } end
agent.on["session/resume"] = function(params)
  for line in io.lines(DIR .. "/" .. params.sessionId) do known[#known + 1] = line end
  return {}
end
prompt(function(_, id, params)
  known[#known + 1] = params.prompt[#params.prompt].text
  local file <close> = io.open(DIR .. "/" .. id, "w")
  file:write(table.concat(known, "\n"), "\n")
  text(id, table.concat(known, "+"))
  return "end_turn"
end)]]

describe("agents of other programs on two machines", function()
  local THREAD = { platform = "p", thread_id = "1" }
  local bench, store, machines, said

  -- A machine with a process of its own for the thread.
  local function machine(target)
    target = target or koine.dispatcher.acp(bench:options(("local DIR = %q\n"):format(bench.dir) .. AGENT))
    local d = koine.dispatcher.shared { store = store, target = target, mode = "per-thread",
      on_done = function(_, _, result) said = result.text end,
      on_error = function(_, _, err) said = tostring(err) end }
    machines[#machines + 1] = target
    return d
  end

  local function say(d, words)
    d:submit(THREAD, { sender_json = "{}", prompt = words })
    while d:step() do end -- luacheck: ignore 542
    return said
  end

  before_each(function() bench, store, machines = acp.bench(), koine.store.memory {}, {} end)
  after_each(function()
    for _, target in ipairs(machines) do
      if target.close then target:close() end
    end
    bench:close()
  end)

  it("know what was said on the other one", function()
    local a, b = machine(), machine()
    assert.equal("m1", say(a, "m1"))
    assert.equal("m1+m2", say(a, "m2"))
    assert.equal(1, #bench:heard "initialize")
    assert.equal("m1+m2+m3", say(b, "m3"))
    assert.equal("m1+m2+m3+m4", say(a, "m4"))
    assert.equal("m1+m2+m3+m4+m5", say(b, "m5"))
  end)

  it("keep their ids in the thread's history, and not in a file of the target's", function()
    local options = bench:options(("local DIR = %q\n"):format(bench.dir) .. AGENT, { file = bench.dir .. "/ids.json" })
    assert(koine.files.write(options.file, '{"p:1":"old"}'))
    local a, b = machine(koine.dispatcher.acp(options)), machine()
    assert.equal("m1", say(a, "m1"))
    assert.equal("m1+m2", say(b, "m2"))
    assert.equal('{"p:1":"old"}', koine.files.read(options.file))
  end)

  it("begin anew after a reset on either", function()
    local a, b = machine(), machine()
    say(a, "m1")
    b:reset(THREAD)
    assert.equal("m2", say(b, "m2"))
    assert.equal("m2+m3", say(a, "m3"))
  end)

  it("say that a thread's history is another target's", function()
    local other = machine { run_turn = function(_, _, _, ctx)
      ctx.keep "else"
      return { text = "" }
    end }
    say(other, "m1")
    assert.is_truthy(say(machine(), "m2"):find("the history of p:1 is another target's", 1, true), said)
  end)
end)
