--- A chat in the terminal, a line at a time. A line that begins with a slash is a command.

local adapters = require "koine.cli.adapters"
local exchange = require "koine.cli.talk.exchange"
local failure = require "koine.cli.failure"
local input = require "koine.cli.input"
local json = require "koine.cli.json"
local keeper = require "koine.cli.logs.keeper"
local koine = require "koine"
local terminal = require "koine.cli.terminal"
local toolbox = require "koine.cli.talk.toolbox"

local chat = {}

-- Slash command → function of the state {args, name, talk} and of what stands behind it.
local slashes = {
  ["/reset"] = function(self) self.talk = koine.conversation(self.talk.adapter, self.talk.opts) end,
  ["/save"] = function(self, path)
    if path == "" then failure.fail(failure.WRONG_USE, "/save: which file?") end
    local done, err = koine.files.write(path, json.encode(self.talk:dump()) .. "\n")
    if not done then failure.cannot(path, err.message) end
    terminal.say("%d messages saved in %s", #self.talk.history, path)
  end,
  ["/load"] = function(self, path)
    if path == "" then failure.fail(failure.WRONG_USE, "/load: which file?") end
    self.talk = koine.conversation.load(self.talk.adapter, input.read_json(path), self.talk.opts)
    terminal.say("%d messages loaded from %s", #self.talk.history, path)
  end,
  ["/model"] = function(self, name)
    if name ~= "" then
      local whole = adapters.whole_name(self.args, name)
      self.talk.adapter, self.name = adapters.adapter_of(self.args, whole), whole
    end
    terminal.say("%s", self.name)
  end,
}

-- One line of a chat: the exit code, and true when it was the last.
local function line_of(self, line)
  local command, rest = line:match "^(/%S*)%s*(.-)%s*$"
  if command == "/quit" then return 0, true end
  if not command then
    return line:find "%S" and exchange.say(self.talk, input.as_text(line, "the line"), self.args,
      { model = self.name, system = self.args.system }, self.tools) or 0
  end
  if not slashes[command] then
    failure.fail(failure.WRONG_USE, "%s: no such command; /reset, /save, /load, /model, /quit", command)
  end
  slashes[command](self, rest)
  return 0
end

--- The command `chat`: the exit code. `report` writes what a line raised; behind a pipe the first failure ends the
-- command.
function chat.command(args, report)
  local kept <close> = keeper.open(args)
  args.keeper = kept
  local self = { args = args, name = adapters.model_of(args) }
  self.talk = kept:talk(adapters.adapter_of(args, self.name), { system = args.system })
  local tools <close> = toolbox.open(args)
  self.tools = tools
  repeat
    if terminal.input then io.stderr:write("> ") end
    local line = io.read "l"
    if terminal.input and not line then io.stderr:write "\n" end
    local ok, code, last = pcall(line_of, self, line or "/quit")
    local over = not terminal.input or type(code) == "table" and code.exit == failure.CLOSED_PIPE
    if not ok and over then error(code, 0) end -- else the user can try something else
    if not ok then report(code) elseif over and code ~= 0 then return code end
  until last
  return 0
end

return chat
