--- Reads lines that a person types. On a terminal that lua-readline can use, lines can be edited, and those of earlier
-- runs are there; without it, and behind a pipe, lines come as they are.
--
-- Readline would go on waiting after Ctrl-C, for it handles the signal itself. While it reads, the terminal therefore
-- sends none: Ctrl-C is what removes the line, and Ctrl-D in an empty one is the end.

local koine = require "koine"
local paths = require "koine.cli.settings.paths"
local terminal = require "koine.cli.terminal"

local editor = {}

local methods = {}
local metatable = { __index = methods }

local KEPT = 1000 -- lines of the history
local HISTORY_MAX = 4 << 20 -- bytes
local ESCAPES = { ["\\"] = "\\\\", ["\n"] = "\\n" }

-- The module of lua-readline; nil without it, where it could not draw, and without a home: it looks for files there.
local function readline()
  if not (terminal.input and terminal.errors and terminal.obeys and os.getenv "HOME") then return nil end
  local found, module = pcall(require, "readline")
  return found and module or nil
end

local function history_path()
  local folder = paths.state()
  return folder and folder .. "/history", folder
end

-- The lines of the history, the oldest first: one a line of the file, with line ends escaped.
local function history()
  local path = history_path()
  local lines = {}
  for line in (path and koine.files.read(path, HISTORY_MAX) or ""):gmatch "[^\n]+" do
    lines[#lines + 1] = line:gsub("\\(.)", function(c) return c == "n" and "\n" or c end)
  end
  return lines
end

-- Adds a line to the file of the history, for its owner alone; other chats may have added some since. It is only a
-- convenience: where that fails, the chat goes on.
local function remember(line)
  local path, folder = history_path()
  if not path then return end
  local lines = history()
  if lines[#lines] == line then return end
  lines[#lines + 1] = line
  local text = {}
  for i = math.max(1, #lines - KEPT + 1), #lines do text[#text + 1] = lines[i]:gsub("[\\\n]", ESCAPES) .. "\n" end
  local done = koine.files.write(path, table.concat(text))
  if done then return end
  koine.process.run { "mkdir", "-p", "-m", "700", "--", folder }
  koine.files.write(path, table.concat(text))
end

-- The settings of the terminal, as stty takes them; nil where it cannot tell.
local function terminal_settings()
  local stty = io.popen("stty -g 2>/dev/null", "r")
  local line = stty and stty:read "l"
  if stty then stty:close() end
  return line and line:find "^[%w:=,]+$" and line or nil
end

--- A reader of lines.
function editor.new()
  local self = setmetatable({ readline = readline() }, metatable)
  if not self.readline then return self end
  self.settings = terminal_settings()
  self.readline.set_options { histfile = "", auto_add = false }
  for _, line in ipairs(history()) do self.readline.add_history(line) end
  return self
end

--- Whether lines can be edited.
function methods:edits() return self.readline ~= nil end

-- Reads a line by readline, while Ctrl-C is a key: an interrupt from elsewhere ends that, too.
local function read(self, prompt)
  if not self.settings then return self.readline.readline(prompt) end
  local restored <close> = setmetatable({}, { __close = function() -- luacheck: ignore restored
    os.execute("stty " .. self.settings)
  end })
  os.execute "stty intr undef kill ^C"
  return (self.readline.readline(prompt))
end

local function edited(self, prompt)
  local line = read(self, prompt)
  if line and line:find "%S" then
    self.readline.add_history(line)
    remember(line)
  end
  return line
end

--- The next line, without its end; nil at the end of the input. `prompt` is shown on a terminal.
function methods:line(prompt)
  if self.readline then return edited(self, prompt) end
  if terminal.input then io.stderr:write(prompt) end
  local line = io.read "l"
  if terminal.input and not line then io.stderr:write "\n" end
  return line
end

return editor
