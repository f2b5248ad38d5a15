--- A chat in the terminal, a line at a time. A line that begins with a slash is a command.

local adapters = require "koine.cli.adapters"
local editor = require "koine.cli.terminal.editor"
local exchange = require "koine.cli.talk.exchange"
local failure = require "koine.cli.failure"
local input = require "koine.cli.input"
local keeper = require "koine.cli.logs.keeper"
local slashes = require "koine.cli.talk.slashes"
local template = require "koine.cli.settings.template"
local terminal = require "koine.cli.terminal"
local toolbox = require "koine.cli.talk.toolbox"

local chat = {}

local PROMPT, MORE = "> ", ". "

-- The lines up to `last`, or to the end of the input, as one text.
local function lines_to(self, last)
  local lines = {}
  for line in function() return self.editor:line(MORE) end do
    if line == last then break end
    lines[#lines + 1] = line
  end
  return table.concat(lines, "\n")
end

-- The next line with those that it goes on with: a text, nil at the end of the input.
local function next_text(self)
  local line = self.editor:line(PROMPT)
  local parts = {}
  while line and line:find "\\$" do
    parts[#parts + 1] = line:sub(1, -2)
    line = self.editor:line(MORE)
  end
  if not line and not parts[1] then return nil end
  parts[#parts + 1] = line
  return table.concat(parts, "\n")
end

local function say(self, text)
  if not text:find "%S" then return 0 end
  local said = input.as_text(text, "the line")
  if self.template then said = self.template:question(said) end
  local about = { model = self.name, system = self.args.system, base_url = self.base_url }
  self.asked_at = #self.talk.history
  return exchange.say(self.talk, said, self.args, about, self.tools)
end

-- One text of a chat: the exit code, and true when it was the last.
local function take(self, text)
  local command, rest = text:match "^/(%S*)%s*(.-)%s*$"
  if not command then return say(self, text) end
  if command == "quit" then return 0, true end
  if command == "multi" then return say(self, lines_to(self, rest ~= "" and rest or "/end")) end
  slashes.run(self, command, rest)
  return 0
end

-- Says what an interrupt left of a question.
local function say_cancelled(self)
  if #self.talk.history == self.asked_at then terminal.say "cancelled; the question is not in the history" end
end

-- Whether a failure ends the chat: behind a pipe, and where nobody reads any more.
local function is_over(raised)
  return not terminal.input or failure.is_closed_pipe(raised)
end

--- The command `chat`: the exit code. `report` writes what a line raised; behind a pipe the first failure ends the
-- command.
function chat.command(args, report)
  local self = { args = args, template = template.apply(args) }
  local kept <close> = keeper.open(args)
  args.keeper, self.name = kept, adapters.model_of(args)
  self.provider = self.name:match "^[^/]*"
  local adapter
  adapter, self.base_url = adapters.adapter_of(args, self.name)
  self.talk = kept:talk(adapter, template.options(args, { system = args.system }))
  local tools <close> = toolbox.open(args)
  self.tools, self.editor = tools, editor.new()
  if terminal.input then terminal.say("%s; /help lists commands, Ctrl-D ends", self.name) end
  for text in next_text, self do
    self.asked_at = nil
    local ok, code, last = pcall(take, self, text)
    if not ok and is_over(code) then error(code, 0) end -- else the user can try something else
    if not ok then
      if report(code) == failure.INTERRUPTED then say_cancelled(self) end
    elseif last or is_over() and code ~= 0 then
      return code
    end
  end
  return 0
end

return chat
