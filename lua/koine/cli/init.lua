--- Koine on the command line; docs/cli.md says how, bin/koine starts it. Uses nothing that users of `require "koine"`
-- do not have.

local account = require "koine.cli.account"
local agent = require "koine.cli.talk.agent"
local arguments = require "koine.cli.arguments"
local ask = require "koine.cli.talk.ask"
local cassette = require "koine.cli.testing.cassette"
local chat = require "koine.cli.talk.chat"
local doctor = require "koine.cli.account.doctor"
local embed = require "koine.cli.embed"
local failure = require "koine.cli.failure"
local logs = require "koine.cli.logs"
local mcp = require "koine.cli.mcp"
local pull = require "koine.cli.account.pull"
local serve_loopback = require "koine.cli.testing.serve_loopback"
local terminal = require "koine.cli.terminal"
local trace = require "koine.cli.trace"

local cli = {}

-- Commands: functions of the arguments and of `report` → exit code.
local COMMANDS = { agent = agent.command, ask = ask.command, chat = chat.command, embed = embed.command,
  logs = logs.command, mcp = mcp.command, models = account.models, login = account.login, usage = account.usage,
  pull = pull.command, trace = trace.command, doctor = doctor.command, ["serve-loopback"] = serve_loopback.command,
  cassette = cassette.command }

-- Says what was raised; the exit code.
local function report(raised)
  pcall(terminal.end_line)
  if type(raised) == "table" then
    if raised.exit ~= failure.CLOSED_PIPE then terminal.say("%s", failure.words(raised)) end
    return failure.code(raised)
  end
  local interrupted = raised:find("interrupted!", 1, true) -- else a mistake of this program's, with a traceback
  io.stderr:write(interrupted and (terminal.errors and "\n" or "") or "koine: " .. terminal.harmless(raised) .. "\n")
  return interrupted and failure.INTERRUPTED or failure.FAILED
end

--- Runs the command that an array of words stands for, and returns its exit code; says what fails.
function cli.main(words)
  local ok, code = xpcall(function()
    local args = arguments.parse(words)
    return COMMANDS[args.command](args, report)
  end, function(raised) return type(raised) == "string" and debug.traceback(raised) or raised end)
  return ok and code or report(code)
end

return cli
