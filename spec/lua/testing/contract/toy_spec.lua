-- An adapter as a third party writes it, on koine.custom_adapter alone: a provider with a wire of its own, and the
-- contract run against it. The provider is a function: request bytes in, a list of events out.

local cjson = require "cjson"
local koine = require "koine"

local json = cjson.new()

-- The provider --------------------------------------------------------------------------------------------------------

local answers, requests = {}, {}

-- The fragments of a text.
local function cut(text, size)
  local list = {}
  size = size or math.max(1, #text // 2)
  for i = 1, #text, size do list[#list + 1] = text:sub(i, i + size - 1) end
  return list
end

local function call_events(events, calls, size)
  for i, call in ipairs(calls) do events[#events + 1] = { "call", i, call.id, call.name } end
  local rest = {}
  for i, call in ipairs(calls) do rest[i] = cut(json.encode(call.arguments), size) end
  local round, more = 1, true
  while more do
    more = false
    for i in ipairs(calls) do
      if rest[i][round] then
        events[#events + 1], more = { "args", i, rest[i][round] }, true
      end
    end
    round = round + 1
  end
end

-- The provider's answer to a request: a status and events, or a status and an error.
local function provider(body)
  requests[#requests + 1] = { headers = {}, body = body }
  local answer = table.remove(answers, 1)
  if not answer then return 500, { message = "nothing is scripted" } end
  if answer.error then return answer.error.status, answer.error end
  if answer.embeddings then return 200 end
  local events, calls, content = {}, {}, answer.content
  if type(content) == "string" then content = { { type = "text", text = content } } end
  for _, block in ipairs(content) do
    if block.type == "tool_use" then
      calls[#calls + 1] = block
    elseif block.type == "redacted_thinking" then
      events[#events + 1] = { "secret", block.data }
    else
      events[#events + 1] = { "open", block.type, block.signature }
      for _, piece in ipairs(cut(block.thinking or block.text, answer.chunk)) do
        events[#events + 1] = { "piece", piece }
      end
      events[#events + 1] = { "close" }
    end
  end
  call_events(events, calls, answer.chunk)
  local failure = answer.stream_error
  if failure then
    local kept, left = {}, failure.after
    for _, event in ipairs(events) do
      if event[1] == "piece" then left = left - 1 end
      if left >= 0 then kept[#kept + 1] = event end
    end
    kept[#kept + 1] = { "failed", failure.status, failure.message }
    return 200, kept
  end
  events[#events + 1] = { "done", stop = answer.stop_reason, usage = answer.usage, model = answer.model,
    id = answer.id }
  return 200, events
end

-- The adapter ---------------------------------------------------------------------------------------------------------

local KINDS = { [400] = "invalid_request", [422] = "invalid_request", [401] = "auth", [403] = "permission",
  [402] = "billing", [404] = "not_found", [413] = "too_large", [429] = "rate_limit", [408] = "timeout",
  [504] = "timeout", [503] = "overloaded", [529] = "overloaded" }

local function failure(status, said)
  return koine.errors.new { kind = KINDS[status] or "server", status_code = status, provider = "toy",
    message = said.message or "no message", retry_after = tonumber((said.headers or {})["retry-after"]) }
end

local answer = {}
local turn_mt = { __index = answer }

-- The meaning of an event for the user: a delta, or nothing for most. Builds the content on the way.
local readers = {
  open = function(self, event)
    self.open = { type = event[2], signature = event[3] }
    self.field = event[2] == "thinking" and "thinking" or "text"
    self.open[self.field] = ""
    if event[2] == "text" then
      self.waiting = true -- for a piece: an empty text is no block
      return nil
    end
    self.content[#self.content + 1] = self.open
    return event[2] ~= "refusal" and { type = event[2] .. "_start" } or nil
  end,
  piece = function(self, event)
    local kind = self.open.type
    local field = self.field
    self.open[field] = self.open[field] .. event[2]
    if self.waiting then
      self.waiting, self.content[#self.content + 1] = false, self.open
      self.events[self.at] = event
      self.open[field], self.at = "", self.at - 1
      return { type = kind .. "_start" }
    end
    return kind ~= "refusal" and { type = kind .. "_delta", text = event[2] } or nil
  end,
  close = function(self)
    local told = not self.waiting and self.open.type ~= "refusal"
    local delta = told and { type = self.open.type .. "_end" } or nil
    self.open, self.waiting = nil, false
    return delta
  end,
  secret = function(self, event) self.content[#self.content + 1] = { type = "redacted_thinking", data = event[2] } end,
  call = function(self, event)
    local call = { type = "tool_use", id = event[3], name = event[4], arguments_json = "" }
    self.content[#self.content + 1], self.calls[event[2]] = call, call
    return { type = "tool_use_start", tool_call_id = call.id, tool_name = call.name }
  end,
  args = function(self, event)
    local call = self.calls[event[2]]
    call.arguments_json = call.arguments_json .. event[3]
    return { type = "tool_use_delta", tool_call_id = call.id, argument_delta = event[3] }
  end,
  failed = function(self, event)
    self.failure = failure(event[2], { message = event[3] })
    self.failure.partial = koine.response { content = self.content, model = self.model, provider = "toy",
      stop_reason = "error", partial = true, usage = {} }
  end,
  done = function(self, event) self.done = event end,
}

function answer:next()
  while self.events[self.at + 1] do
    self.at = self.at + 1
    local event = self.events[self.at]
    local delta = readers[event[1]](self, event)
    if delta then return delta end
  end
  local ended = self.ended + 1
  if self.failure or not self.calls[ended] then return nil, self.failure end
  self.ended = ended
  return { type = "tool_use_end", tool_call_id = self.calls[ended].id }
end

function answer:response()
  for _, call in ipairs(self.calls) do call.arguments = json.decode(call.arguments_json) end
  local done, last = self.done, self.content[#self.content]
  local inferred = last and (last.type == "tool_use" or last.type == "refusal") and last.type or "end_turn"
  return { content = self.content, model = done.model or self.model, provider = "toy", id = done.id,
    stop_reason = done.stop or inferred, usage = done.usage or {} }
end

-- Vectors of the first letters.
local function embed(_, inputs, opts)
  inputs = type(inputs) == "string" and { inputs } or inputs
  local vectors = {}
  for i, text in ipairs(inputs) do
    if type(text) ~= "string" or not text:find "%S" then
      koine.errors.argument(("inputs[%d]"):format(i), "text", text)
    end
    vectors[i] = { text:byte(1) / 256, (text:byte(2) or 0) / 256 }
    if opts.as == "packed" then vectors[i] = koine.vector.pack(vectors[i]) end
  end
  if opts.dimension then koine.errors.argument("dimension", "no such option", opts.dimension) end
  if #inputs > 0 then
    local status, said = provider(json.encode { embed = true, inputs = #inputs })
    if status ~= 200 then return nil, failure(status, said) end
  end
  return { vectors = vectors, dimensions = 2, model = "toy-e", usage = { requests = 1 }, warnings = {} }
end

local function toy(options)
  options.model = options.model or "toy-1"
  return koine.custom_adapter {
    name = "Toy", options = options,
    open = function(_, messages, opts)
      local tools
      for i, tool in ipairs(opts.tools or {}) do
        tools = tools or {}
        tools[i] = { name = tool.name, description = tool.description, parameters = tool.parameters }
      end
      local status, said = provider(json.encode { model = opts.model, system = opts.system ~= "" and opts.system or nil,
        tools = tools, max_tokens = opts.max_tokens, thinking = opts.thinking, messages = messages })
      if status ~= 200 then return nil, failure(status, said) end
      return setmetatable({ events = said, at = 0, content = {}, calls = {}, ended = 0, model = opts.model }, turn_mt)
    end,
    list_models = function()
      return { koine.model_info { id = "toy-1", name = "Toy 1", max_context_tokens = 1000, supports_vision = true,
        supports_tool_use = true, supports_streaming = true } }
    end,
    max_context_tokens = function() return 1000 end,
    embed = embed,
  }
end

koine.testing.contract.describe("a toy written on koine.custom_adapter", {
  describe = describe, it = it, assert = assert, teardown = teardown,
  new = function(opts) return toy(opts or {}) end,
  script = function(list) answers = table.move(list, 1, #list, 1, {}) end,
  requests = function() return requests end,
  supports = { errors = true, signatures = true, blocks = true }, embed = {},
})
