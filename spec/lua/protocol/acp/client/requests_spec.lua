-- What an agent may ask of its client, and how much of it: sessions that there are not, and terminals without end.

local kit = require "spec.lua.protocol.acp.kit"
local koine = require "koine"

describe("a client that an agent asks", function()
  local bench, executor

  before_each(function()
    bench = kit.bench()
    executor = assert(koine.executor { workdir = bench.dir })
  end)

  after_each(function()
    executor:close()
    bench:close()
  end)

  -- What the agent says in a turn with this body.
  local function said(body, given)
    given = given or { executor = executor }
    local _, result, err = bench:turn(body .. ' return "end_turn"', given)
    assert(result, err)
    return result.text
  end

  it("serves no session that there is not", function()
    assert.equal("-32002 -32002 -32002 -32002 -32002", said [[
      local codes = {}
      for i, params in ipairs { { command = "true" }, { command = "true", sessionId = "other" },
        { command = "true", sessionId = array {} } } do
        codes[i] = select(2, ask("terminal/create", params)).code
      end
      codes[4] = select(2, ask("fs/read_text_file", { sessionId = "other", path = "/x" })).code
      codes[5] = select(2, ask("fs/write_text_file", { path = "/x", content = "" })).code
      text(id, table.concat(codes, " "))]])
  end)

  it("counts a terminal that was released until its command has ended", function()
    local ended = false
    local function close(self)
      while not ended do koine.park(self, 0.01) end
    end
    local function nothing() end
    local stubborn = setmetatable({ open = function()
      return { line = nothing, stop = nothing, close = close, result = function() return { code = 0 } end }
    end }, { __index = executor })
    assert.equal("100 at most 100 terminals at once", said([[
      local made, refused = 0, ""
      for i = 1, 101 do
        local terminal, err = ask("terminal/create", { sessionId = id, command = "x" })
        if terminal then
          made = made + 1
          ask("terminal/release", { sessionId = id, terminalId = terminal.terminalId })
        else
          refused = err.message
        end
      end
      text(id, made .. " " .. refused)]], { executor = stubborn }))
    ended = true
  end)

  it("keeps no more than the bytes of an output, of whatever lines", function()
    local function nothing() end
    local program = setmetatable({ open = function()
      local n = 0
      return { stop = nothing, close = nothing, result = function() return { code = 0 } end, line = function()
        n = n + 1
        return n <= 400000 and "" or nil
      end }
    end }, { __index = executor })
    local words = said([[
      local terminal = ask("terminal/create", { sessionId = id, command = "x" })
      ask("terminal/wait_for_exit", { sessionId = id, terminalId = terminal.terminalId })
      local output = ask("terminal/output", { sessionId = id, terminalId = terminal.terminalId })
      text(id, #output.output .. " " .. tostring(output.truncated))]], { executor = program })
    assert.equal("400000 false", words)
    collectgarbage()
    local before = collectgarbage "count"
    bench:close()
    collectgarbage()
    assert.is_true(before - collectgarbage "count" < 2048, "KiB of a terminal")
    bench = kit.bench()
  end)

  it("counts no terminal whose command has ended", function()
    assert.equal("105", said [[
      local made = 0
      for i = 1, 105 do
        local terminal = ask("terminal/create", { sessionId = id, command = "true" })
        if not terminal then break end
        made = made + 1
        ask("terminal/wait_for_exit", { sessionId = id, terminalId = terminal.terminalId })
        ask("terminal/release", { sessionId = id, terminalId = terminal.terminalId })
      end
      text(id, tostring(made))]])
  end)

  it("does not take for silent an agent that asks", function()
    local wait = require "koine.task.wait"
    local now, passed = wait.now, 0
    finally(function() wait.now = now end)
    function wait.now() return now() + passed end
    local slow = setmetatable({ read_text = function(_, ...)
      passed = passed + 400 -- seconds
      return executor:read_text(...)
    end }, { __index = executor })
    assert.equal("4", said([[
      local n = 0
      for _ = 1, 4 do
        if ask("fs/read_text_file", { sessionId = id, path = "]] .. bench.log .. [[" }) then n = n + 1 end
      end
      text(id, tostring(n))]], { executor = slow, timeout = { idle = 600 } }))
  end)
end)
