--- The commands of a chat: lines that begin with a slash.

local adapters = require "koine.cli.adapters"
local failure = require "koine.cli.failure"
local input = require "koine.cli.input"
local json = require "koine.cli.json"
local koine = require "koine"
local meter = require "koine.cli.talk.meter"
local terminal = require "koine.cli.terminal"

local slashes = {}

-- Name → {what stands behind it, what it does, function of the chat and of the words behind it}. The chat is {args,
-- name (the model's), provider (the first one's), base_url (the given one), talk (a conversation), editor}.
local COMMANDS = {}

-- The commands in the order of /help.
local ORDER = { "help", "model", "system", "cost", "save", "load", "reset", "multi", "quit" }

local function path_in(command, path)
  if path == "" then failure.fail(failure.WRONG_USE, "/%s: a file name is required", command) end
  return path
end

COMMANDS.help = { "", "lists these commands", function(self)
  local lines = {}
  for i, name in ipairs(ORDER) do
    local command = COMMANDS[name]
    lines[i] = ("  /%-22s %s"):format(name .. " " .. command[1], command[2])
  end
  lines[#lines + 1] = "A \\ at the end of a line goes on with the next one."
  if terminal.input and not self.editor:edits() then
    lines[#lines + 1] = "lua-readline (Debian: lua-readline; LuaRocks: readline) lets you edit lines."
  end
  terminal.show(table.concat(lines, "\n"))
end }

-- Options of the command line that are for the provider that the chat began with.
local OF_PROVIDER = { base_url = true, key = true }

-- The arguments for a provider: without what is for the first one, which a line says.
local function arguments_for(self, provider)
  if provider == self.provider then return self.args end
  local given = {}
  for _, option in ipairs(self.args.given) do
    if OF_PROVIDER[option[1]] then
      terminal.say("%s is for %s, not for %s", option.flag or "-o " .. option[1], self.provider, provider)
    else
      given[#given + 1] = option
    end
  end
  return setmetatable({ given = given }, { __index = self.args })
end

COMMANDS.model = { "[MODEL]", "goes on with another model, or says which it is", function(self, name)
  if name ~= "" then
    local args = arguments_for(self, adapters.resolve(name):match "^[^/]*")
    local whole = adapters.whole_name(args, name)
    self.talk.adapter, self.base_url = adapters.adapter_of(args, whole)
    self.name = whole
  end
  terminal.say("%s", self.name)
end }

COMMANDS.system = { "[TEXT]", "sets the system prompt, or shows it; - removes it", function(self, text)
  if text ~= "" then
    self.args.system = text ~= "-" and text or nil
    self.talk.opts.system = self.args.system
  end
  terminal.say("%s", self.args.system and "system: " .. self.args.system or "no system prompt")
end }

COMMANDS.cost = { "", "says what the chat took so far", function(self)
  local total = self.args.keeper.meter:total()
  terminal.say("%s", total.seconds > 0 and meter.words(total) or "nothing so far")
end }

COMMANDS.save = { "FILE", "writes the history as JSON, or as a text where FILE ends in .md", function(self, path)
  path_in("save", path)
  local log = self.args.keeper.path
  if log and terminal.is_same_file(path, log) then failure.fail(failure.WRONG_USE, "/save: %s is the log", path) end
  local text = path:find "%.md$" and slashes.text(self.talk.history) or json.encode(self.talk:dump())
  local done, err = koine.files.write(path, text .. "\n")
  if not done then failure.cannot(path, err.message) end
  terminal.say("%d messages saved in %s", #self.talk.history, path)
end }

COMMANDS.load = { "FILE", "goes on with a history that /save wrote as JSON", function(self, path)
  self.talk = koine.conversation.load(self.talk.adapter, input.read_json(path_in("load", path)), self.talk.opts)
  terminal.say("%d messages loaded from %s", #self.talk.history, path)
end }

COMMANDS.reset = { "", "forgets the history", function(self)
  self.talk = koine.conversation(self.talk.adapter, self.talk.opts)
end }

COMMANDS.multi = { "[END]", "begins a question of several lines, up to a line /end, or END" }
COMMANDS.quit = { "", "ends the chat, as Ctrl-D does" }

-- Blocks that a reader of a saved chat does not miss.
local LEFT_OUT = { thinking = true, redacted_thinking = true, tool_result = true }

-- The texts of a message, with a line for what is none; "" where nothing is to be read.
local function text_of(message)
  local content = type(message.content) == "string" and { { type = "text", text = message.content } } or message.content
  local texts = {}
  for _, block in ipairs(content) do
    if block.type == "text" then
      texts[#texts + 1] = block.text
    elseif not LEFT_OUT[block.type] then
      texts[#texts + 1] = "(" .. block.type .. (block.name and " " .. block.name or "") .. ")"
    end
  end
  return table.concat(texts, "\n\n")
end

--- A history (an array of messages) as Markdown: questions are quoted.
function slashes.text(history)
  local parts = {}
  for _, message in ipairs(history) do
    local text = text_of(message)
    if message.role == "user" and text ~= "" then text = "> " .. text:gsub("\n", "\n> ") end
    parts[#parts + 1] = text ~= "" and text or nil
  end
  return table.concat(parts, "\n\n")
end

--- Runs a command of a chat, and returns nothing; `name` is that of the command, without the slash, `rest` what stands
-- behind it. Fails as wrong use for an unknown one.
function slashes.run(self, name, rest)
  local command = COMMANDS[name]
  if command and command[3] then
    command[3](self, rest)
    return
  end
  local names = {}
  for i, known in ipairs(ORDER) do names[i] = "/" .. known end
  failure.fail(failure.WRONG_USE, "/%s: unknown command; known are %s", name, table.concat(names, ", "))
end

return slashes
