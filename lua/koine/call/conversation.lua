--- A conversation: an adapter, the options of its calls, and a history that is always legal.
--
--   local talk = koine.conversation(adapter, { system = "Be brief.", tools = { weather } })
--   local r = assert(talk:ask "What is the weather in Paris?")
--   while r.tool_calls[1] do
--     local results = {}
--     for i, call in ipairs(r.tool_calls) do results[i] = { tool_use_id = call.id, content = look_up(call) } end
--     r = assert(talk:results(results))
--   end
--
-- The history grows by a whole exchange or not at all: an ask that fails, is broken off by its `on_delta`, or raises,
-- leaves it as it was.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local exclusive = require "koine.task.exclusive"
local records = require "koine.data.records"

local FORMAT, VERSION = "koine.conversation", 1

local methods = {}
local metatable = { __index = methods, __name = "koine.conversation" }

local function new(adapter, opts, history)
  return setmetatable({ adapter = adapter, opts = opts, history = history, busy = false }, metatable)
end

-- The tool calls that the last message waits for, in order.
local function pending(history)
  local last, calls = history[#history], {}
  if last and last.role == "assistant" and type(last.content) == "table" then
    for _, block in ipairs(last.content) do
      if block.type == "tool_use" and not block.output then calls[#calls + 1] = block end
    end
  end
  return calls
end

-- The options of one call: the conversation's, over them those of this exchange, or its on_delta alone. An output of
-- false is none.
local function call_options(opts, own)
  local copy = {}
  for name, value in next, opts do copy[name] = value end
  if type(own) == "table" then
    for name, value in next, own do copy[name] = value end
  elseif own ~= nil then
    copy.stream, copy.on_delta = true, own
  end
  if copy.output == false then copy.output = nil end
  return copy
end

local ONE_EXCHANGE = { field = "conversation", expected = "one exchange at a time",
  message = "conversation: one exchange at a time expected, another one is under way" }

-- Sends the history and `message` after it (nil: the history alone). The Response, or nil, err.
local function exchange(self, message, opts)
  local held <close> = exclusive(self, ONE_EXCHANGE) -- luacheck: ignore held
  local messages = table.move(self.history, 1, #self.history, 1, {})
  messages[#messages + 1] = message
  return self.adapter:chat(messages, call_options(self.opts, opts))
end

local function append(history, message, answer)
  history[#history + 1] = message
  history[#history + 1] = answer
end

-- Adds an exchange to the history, whole or, where memory ends, not at all.
local function add(history, message, answer)
  local n = #history
  local ok, err = pcall(append, history, message, answer)
  if ok then return end
  if history[n + 1] then history[n + 1] = nil end
  error(err, 0)
end

local function say(self, content, opts)
  local message = { role = "user", content = records.to_table(content) }
  local response, err = exchange(self, message, opts)
  if not response then return nil, err end
  add(self.history, message, response:message())
  return response
end

-- Raises for a table that is no array: parts behind a hole, or under another key, would not be sent.
local function check_list(field, expected, value)
  if type(value) ~= "table" then errors.argument(field, expected, value) end
  if not check.is_list(value) then core.raise_argument(field, expected, "a table with holes or other keys") end
end

-- True for content that would vanish from the request: the model would then continue its own answer.
local function says_nothing(said)
  if type(said) == "string" then return not said:find "%S" end
  return next(said) == nil
end

--- Says something: the Response, or nil, err. `said` is a string or an array of blocks; `opts` a table of options of
-- this exchange (call/options), which win over the conversation's, or a function of one delta; nil for none. Its output
-- may be false: this answer has no shape, though the conversation's answers have one. Tool calls that wait for
-- results are answered as not executed. Raises an ArgumentError for bad blocks, options, or while another exchange is
-- under way.
function methods:ask(said, opts)
  if type(said) ~= "string" then check_list("ask", "string or array of blocks", said) end
  if says_nothing(said) then errors.argument("ask", "non-empty text or blocks", said) end
  local calls = pending(self.history)
  if #calls == 0 then return say(self, said, opts) end
  local blocks = {}
  for i, call in ipairs(calls) do
    blocks[i] = { type = "tool_result", tool_use_id = call.id, content = "The call was not executed.", is_error = true }
  end
  if type(said) == "string" then said = { { type = "text", text = said } } end
  return say(self, table.move(said, 1, #said, #blocks + 1, blocks), opts)
end

-- The result of a call as a block; raises when it is not one or answers no pending call.
local function result_block(result, path, wanted)
  if type(result) ~= "table" then errors.argument(path, "tool result", result) end
  if not wanted[result.tool_use_id] then
    errors.argument(path .. ".tool_use_id", "id of a tool call that waits for its result", result.tool_use_id)
  end
  wanted[result.tool_use_id] = nil
  local block = {}
  for name, value in next, result do block[name] = value end
  block.type = "tool_result"
  return block
end

--- Answers the tool calls of the last Response and returns the next one, or nil, err. `results` is an array of
-- {tool_use_id, content = string or array of text blocks, is_error = nil | boolean}, one for each call, in any order.
-- `opts` as for ask. Raises an ArgumentError naming a result that is missing, doubled or for no call.
function methods:results(results, opts)
  check_list("results", "array of tool results", results)
  local calls, wanted, given = pending(self.history), {}, {}
  if #calls == 0 then core.raise_argument("results", "no results (no tool call waits for one)", "some") end
  for _, call in ipairs(calls) do wanted[call.id] = true end
  for i, result in ipairs(results) do
    local block = result_block(result, "results[" .. i .. "]", wanted)
    given[block.tool_use_id] = block
  end
  local blocks = {}
  for i, call in ipairs(calls) do
    if not given[call.id] then core.raise_argument("results", "a result for the call " .. call.id, "none") end
    blocks[i] = given[call.id]
  end
  return say(self, blocks, opts)
end

--- Goes on with an answer that the provider paused (stop_reason "pause_turn") and returns the Response of what came
-- since, or nil, err; `opts` as for ask. The history holds both parts as one message. Raises an ArgumentError when the
-- last message is not the assistant's.
function methods:resume(opts)
  local history = self.history
  local paused = history[#history]
  if not paused or paused.role ~= "assistant" then
    core.raise_argument("resume", "a message of the assistant at the end of the history", "none")
  end
  local response, err = exchange(self, nil, opts)
  if not response then return nil, err end
  local before = paused.content
  if type(before) == "string" then before = { { type = "text", text = before } } end
  local joined = table.move(before, 1, #before, 1, core.array {})
  table.move(response.content, 1, #response.content, #joined + 1, joined)
  history[#history] = { role = "assistant", content = joined }
  return response
end

--- A second conversation that begins with a copy of this one's history; from then on each goes its own way.
function methods:fork() return new(self.adapter, self.opts, records.to_table(self.history)) end

--- The history as a plain table, fit for any JSON library: {format, version, history}. Neither the options nor the
-- adapter are in it.
function methods:dump()
  return { format = FORMAT, version = VERSION, history = records.to_table(self.history) }
end

local function check_arguments(adapter, opts)
  check.adapter(adapter, "adapter")
  if opts ~= nil and type(opts) ~= "table" then check.refuse("options", "table", opts) end
end

local conversation = {}

--- The conversation that `dumped` (what dump returned) holds, with any adapter (a history belongs to none) and
-- options. Raises an ArgumentError naming what is wrong with the dump.
function conversation.load(adapter, dumped, opts)
  check_arguments(adapter, opts)
  if type(dumped) ~= "table" then errors.argument("dump", "table", dumped) end
  if dumped.format ~= FORMAT then errors.argument("dump.format", '"' .. FORMAT .. '"', dumped.format) end
  if dumped.version ~= VERSION then errors.argument("dump.version", tostring(VERSION), dumped.version) end
  records.check_messages(dumped.history, "dump.history")
  return new(adapter, opts or {}, records.to_table(dumped.history))
end

-- The message without its blocks of that type: the same one when it has none, nil when nothing else is in it.
local function without(message, kind)
  local content, kept = message.content, core.array {}
  if type(content) ~= "table" then return message end
  for _, block in ipairs(content) do
    if block.type ~= kind or block.output then kept[#kept + 1] = block end
  end
  if #kept == #content then return message end
  return #kept > 0 and { role = message.role, content = kept } or nil
end

local POSITION = check.integer()

-- A position in a history, or `default`.
local function position(value, default, field)
  if value == nil then return default end
  return POSITION(value, field)
end

--- A part of a history that is one itself, for programs that shorten histories: messages `first` to `last` (1 and all
-- of them when left out; what there is of them) without the tool results at its beginning, whose calls were cut off,
-- and the tool calls at its end, which have no results. A new array of the same tables; those that were trimmed are
-- new. Raises an ArgumentError unless the history is an array of messages without holes and the positions are integers.
function conversation.slice(messages, first, last)
  records.check_messages(messages, "messages")
  local n = #messages
  first, last = math.max(position(first, 1, "first"), 1), math.min(position(last, n, "last"), n)
  local part = core.array {}
  for i = first, last do
    local message = messages[i]
    if part[1] == nil then message = without(message, "tool_result") end
    part[#part + 1] = message
  end
  n = #part
  if n > 0 and part[n].role == "assistant" then part[n] = without(part[n], "tool_use") end
  return part
end

--- koine.conversation(adapter, opts): a conversation without a history. `opts` are the options of every call (system,
-- tools, max_tokens, thinking, …), checked by the adapter. Fields of its own: `history`, the array of messages so far
-- (read it; change it only between exchanges), `adapter`, `opts`.
local function begin(_, adapter, opts)
  check_arguments(adapter, opts)
  return new(adapter, opts or {}, {})
end

check.colons(methods, metatable, "conversation")

return setmetatable(conversation, { __call = begin })
