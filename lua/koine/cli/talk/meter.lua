--- What the calls of an exchange took: seconds, tokens and cost, as the adapter's observer is told them.

local koine = require "koine"
local terminal = require "koine.cli.terminal"

local meter = {}

local methods = {}
local metatable = { __index = methods }

-- Adds a count; what is not known once stays unknown.
local function add(self, name, count)
  if not count then self.unknown[name] = true end
  self[name] = (self[name] or 0) + (count or 0)
end

local function take_chat(self, record)
  if record.phase == "start" then
    self.began = self.began or record.time
    return
  end
  local usage = record.usage or {}
  self.ended, self.trace, self.id = record.time, record.trace, record.id
  add(self, "input", usage.input_tokens
    and usage.input_tokens + (usage.cache_read_tokens or 0) + (usage.cache_creation_tokens or 0))
  add(self, "output", usage.output_tokens)
  add(self, "cost", record.cost)
end

--- A meter; its `observer` is for the adapters. `to` (function of one record, nil: none) gets all records, too.
function meter.new(to)
  local self = setmetatable({ unknown = {}, all = { seconds = 0, partial = {} } }, metatable)
  self.observer = koine.observe.new { to = function(record)
    if record.type == "chat" then take_chat(self, record) end
    if to then to(record) end
  end }
  return self
end

--- What was measured since the last time: {time (Unix ns), seconds, input, output (tokens), cost (dollars), trace, id
-- (the last chat's)}, each nil where it is not known.
function methods:take()
  local taken = { time = self.began, trace = self.trace, id = self.id }
  if self.began and self.ended then taken.seconds = (self.ended - self.began) / 1e9 end
  for _, name in ipairs { "input", "output", "cost" } do
    if not self.unknown[name] then taken[name] = self[name] end
    if taken[name] then self.all[name] = (self.all[name] or 0) + taken[name] end
    if self.began and not taken[name] then self.all.partial[name] = true end
    self[name] = nil
  end
  self.all.seconds = self.all.seconds + (taken.seconds or 0)
  self.began, self.ended, self.trace, self.id, self.unknown = nil, nil, nil, nil, {}
  return taken
end

--- The sum of all that was taken: {seconds, input, output, cost, partial = {NAME = true for each of the last three that
-- misses a call}}.
function methods:total() return self.all end

--- The words for what was taken: "12 tokens in, 34 out, $0.000123, 1.2 s"; "at least" before a figure that misses a
-- call.
function meter.words(taken)
  local function figure(name, format, unknown)
    if not taken[name] then return unknown end
    return (taken.partial and taken.partial[name] and "at least " or "") .. format:format(taken[name])
  end
  return ("%s tokens in, %s out, %s, %.1f s"):format(figure("input", "%d", "?"), figure("output", "%d", "?"),
    figure("cost", "$%.6f", "price unknown"), taken.seconds or 0)
end

--- Says what was taken, where a person sees both the answer and this, or in any case (`always`).
function meter.say(taken, always)
  if (always or terminal.output and terminal.errors) and taken.seconds then terminal.say("%s", meter.words(taken)) end
end

return meter
