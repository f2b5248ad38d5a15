--- Koine on the command line; docs/cli.md says how, bin/koine starts it. Uses nothing that users of `require "koine"`
-- do not have. What a command needs is loaded when it runs.

local failure = require "koine.cli.failure"
local koine = require "koine"

local cli = {}

-- Commands: functions of the arguments and of `report` → exit code.
local COMMANDS = {
  agent = function(...) return require("koine.cli.talk.agent").command(...) end,
  ask = function(...) return require("koine.cli.talk.ask").command(...) end,
  cassette = function(...) return require("koine.cli.testing.cassette").command(...) end,
  chat = function(...) return require("koine.cli.talk.chat").command(...) end,
  config = function(...) return require("koine.cli.settings.show").config(...) end,
  doctor = function(...) return require("koine.cli.account.doctor").command(...) end,
  embed = function(...) return require("koine.cli.talk.embed").command(...) end,
  login = function(...) return require("koine.cli.account").login(...) end,
  logs = function(...) return require("koine.cli.logs").command(...) end,
  mcp = function(...) return require("koine.cli.mcp").command(...) end,
  models = function(...) return require("koine.cli.account").models(...) end,
  pull = function(...) return require("koine.cli.account.pull").command(...) end,
  ["serve-loopback"] = function(...) return require("koine.cli.testing.serve_loopback").command(...) end,
  templates = function(...) return require("koine.cli.settings.show").templates(...) end,
  trace = function(...) return require("koine.cli.trace").command(...) end,
  usage = function(...) return require("koine.cli.account").usage(...) end,
}

-- Says what was raised; the exit code.
local function report(raised)
  local terminal = require "koine.cli.terminal"
  pcall(terminal.end_line)
  if type(raised) == "table" then
    if not failure.is_closed_pipe(raised) then terminal.say("%s", failure.words(raised)) end
    return failure.code(raised)
  end
  local interrupted = raised:find("interrupted!", 1, true) -- else a mistake of this program's, with a traceback
  io.stderr:write(interrupted and (terminal.errors and "\n" or "") or "koine: " .. terminal.harmless(raised) .. "\n")
  return interrupted and failure.INTERRUPTED or failure.FAILED
end

--- The names of the modules of others that these words need: an array.
function cli.needs(words) return words[1] == "--version" and {} or { "argparse", "cjson" } end

--- Runs the command that an array of words stands for, and returns its exit code; says what fails.
function cli.main(words)
  if words[1] == "--version" then
    print("koine " .. koine.version)
    return 0
  end
  local ok, code = xpcall(function()
    local args = require("koine.cli.arguments").parse(words)
    return COMMANDS[args.command](args, report)
  end, function(raised) return type(raised) == "string" and debug.traceback(raised) or raised end)
  return ok and code or report(code)
end

return cli
