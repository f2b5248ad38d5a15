-- The example with an agent of another program, run as a reader would run it, with an agent that this spec writes.

local acp = require "spec.lua.protocol.acp.kit"
local files = require "spec.support.files"
local kit = require "spec.lua.whole.examples.kit"

-- Counts its prompts, asks before it deletes, and can die; what it has said to a session it has in memory alone.
local AGENT = acp.OPTIONS .. [[
local turns = 0
prompt(function(_, id, params)
  local words = params.prompt[#params.prompt].text
  turns = turns + 1
  if words:find "die" then os.exit(1) end
  local kind = words:match "^(%a+) "
  if kind then
    local reply = ask("session/request_permission", { sessionId = id, options = OPTIONS,
      toolCall = { toolCallId = "t", title = words, kind = kind } })
    words = words .. " " .. reply.outcome.optionId
  end
  text(id, words .. ", turn " .. turns)
  return "end_turn"
end)]]

describe("the example chat_bridge_acp", function()
  local bench

  before_each(function() bench = acp.bench() end)
  after_each(function() bench:close() end)

  -- What it prints for these lines; the agent's program is `env`, which gives it the paths of Lua.
  local function run(lines)
    local options = bench:options(AGENT)
    local words = { "env" }
    for name, value in pairs(options.env) do words[#words + 1] = ("%s='%s'"):format(name, value) end
    words[#words + 1] = options.command
    for _, word in ipairs(options.args) do words[#words + 1] = word end
    files.write(bench.dir .. "/lines", table.concat(lines, "\n") .. "\n")
    local text, ok = kit.output_of(("KOINE_SESSIONS=%s/ids %s examples/chat_bridge_acp.lua %s <%s/lines"):format(
      bench.dir, kit.LUA, table.concat(words, " "), bench.dir))
    assert.is_true(ok, text)
    return text
  end

  it("has a session for each thread, asks a person, and says what was lost", function()
    assert.equal("#a agent: hello, turn 1\n#b agent: hello, turn 1\n#a agent: read x a, turn 2\n"
      .. "#a agent: (may I: delete x? y/n)\n#a agent: delete x a, turn 3\n"
      .. "#b agent: (may I: delete y? y/n)\n#b agent: delete y r, turn 2\n",
      run { "a ann hello", "b bob hello", "a ann read x", "a ann delete x", "y", "b bob delete y", "n" })
    local lost = run { "b bob hello", "b bob die", "b bob hello", "b bob !new", "b bob hello" }
    assert.is_truthy(lost:find("^#b agent: %(I have lost what we said before%)\n#b agent: hello, turn 1\n"
      .. "#b agent: %(failed: [^\n]+%)\n#b agent: %(I have lost what we said before%)\n#b agent: hello, turn 1\n"
      .. "#b agent: hello, turn 1\n$"), lost)
  end)
end)
