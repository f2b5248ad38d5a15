--- Keeps what is asked and answered in a log, and goes on with a conversation of it. A keeper is there for each `ask`
-- and `chat`, with a log or without: it also says what an answer took.

local failure = require "koine.cli.failure"
local file = require "koine.cli.logs.file"
local koine = require "koine"
local meter = require "koine.cli.talk.meter"
local terminal = require "koine.cli.terminal"

local keeper = {}

local methods = {}
local metatable = { __index = methods }

-- Takes over the history, the model and the system prompt of a conversation.
local function take_over(self, args)
  local found = file.conversation(self.log, args.cid)
  self.history = koine.array {}
  for _, entry in ipairs(found) do table.move(entry.messages, 1, #entry.messages, #self.history + 1, self.history) end
  local last = found[#found]
  self.conversation, self.logged = last.conversation, #self.history
  args.model, args.system = args.model or last.model, args.system or last.system
  args.continued = { provider = last.model:match "^[^/]*", base_url = last.base_url }
end

--- A keeper of a command's exchanges; its `meter` is for the adapters, `path` that of the log (nil: none). With
-- --continue or --cid it sets the model and the system prompt of `args` that are not given, and `continued`: {provider,
-- base_url (nil: its own)} of the last exchange. Fails where the log cannot be used.
function keeper.open(args)
  local self = setmetatable({ logged = 0, history = koine.array {}, says = args.usage }, metatable)
  local path, goes_on = file.path_of(args), args.continue or args.cid
  if path then self.log, self.path = file.open(path, true, goes_on), path end
  if goes_on then
    if not path then
      failure.fail(failure.WRONG_USE, "%s: a log is required (--log FILE or KOINE_LOG)",
        args.cid and "--cid" or "--continue")
    end
    take_over(self, args)
  end
  local log = self.log
  self.meter = meter.new(log and log.observe and function(record) log:observe(record) end)
  return self
end

--- A conversation with an adapter that goes on with what was taken over.
function methods:talk(adapter, opts)
  self.current = koine.conversation.load(adapter, { format = "koine.conversation", version = 1,
    history = self.history }, opts)
  return self.current
end

-- The text of the user's messages.
local function prompt_of(messages)
  local texts = {}
  for _, message in ipairs(messages) do
    local content = message.role == "user" and message.content or {}
    if type(content) == "string" then content = { { type = "text", text = content } } end
    for _, block in ipairs(content) do
      if block.type == "text" then texts[#texts + 1] = block.text end
    end
  end
  return table.concat(texts, "\n")
end

--- Says what the answer took, and keeps it: `history` is all that was said up to it, `response` the last Response.
-- `about`: {model, system, base_url}. false where the log could not be written, which is said.
function methods:keep(history, response, about)
  local taken = self.meter:take()
  meter.say(taken, self.says)
  local log = self.log
  if not log or not taken.id then return true end
  local messages = table.move(history, self.logged + 1, #history, 1, koine.array {})
  local id = taken.id:reverse() -- the chat's own names its record
  local done, why = log:add { v = 1, type = "exchange", phase = "point", trace = taken.trace, parent = taken.id,
    id = id, time = taken.time, seconds = taken.seconds, conversation = self.conversation or id, model = about.model,
    base_url = about.base_url, system = about.system, prompt = prompt_of(messages), answer = response:text(),
    messages = messages, usage = response:to_table().usage, cost = taken.cost, stop_reason = response.stop_reason }
  if not done then
    terminal.say("not logged: %s", why)
    return false
  end
  self.conversation, self.logged = self.conversation or id, #history
  return true
end

--- The same after an exchange of a conversation. Another one than before begins a conversation of the log, too.
function methods:keep_talk(talk, response, about)
  if talk ~= self.current then self.current, self.conversation, self.logged = talk, nil, 0 end
  return self:keep(talk:dump().history, response, about)
end

--- Closes the log. Any number of times.
function methods:close()
  if self.log then self.log:close() end
  self.log = nil
end
metatable.__close = methods.close

return keeper
