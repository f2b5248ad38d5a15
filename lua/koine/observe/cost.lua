--- What calls used and cost, as a table: an observer that adds up the ends of chats and embeds. Runs and sessions are
-- not counted, because their chats are; nor is a chat whose adapter, one in Lua, asked others for it.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local spans = require "koine.observe.spans"

local methods = {}
local cost_mt = { __index = methods, __name = "koine.observe.cost" }

local BUCKETS = { "input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens", "reasoning_tokens" }

-- What a call is counted under, by name.
local BY = {
  provider = function(_, start) return start.provider end,
  model = function(_, start, record) return record.response_model or start.model end,
  agent = function(self, start)
    local agent = self.spans:nearest(start, "agent")
    return agent and agent.name
  end,
  tool = function(self, start)
    local tool = self.spans:nearest(start, "tool")
    return tool and tool.name
  end,
  day = function(_, _, record) return os.date("!%Y-%m-%d", record.time // 1000000000) end,
}

local NAMES = check.list(check.one_of { "provider", "model", "agent", "tool", "day" })
local OPTIONS = check.options {
  by = check.either("function of a call's end and start, or array of names", check.func, NAMES) }

local function new_row() return { calls = 0, failed = 0, retried = 0, unknown = 0 } end

-- Whether a call without usage may have used tokens: an attempt was made, and the provider did not refuse it.
local function was_left(record)
  local err = record.error
  if not err or (record.attempts or 1) == 0 then return false end
  return err.kind ~= "connect" and err.code ~= "connect" and (err.status_code or 0) < 300
end

local function add(row, record)
  local usage = record.usage or {}
  row.calls = row.calls + 1
  row.failed = row.failed + (record.error and 1 or 0)
  row.retried = row.retried + math.max((record.attempts or 1) - 1, 0)
  for _, bucket in ipairs(BUCKETS) do
    if usage[bucket] then row[bucket] = (row[bucket] or 0) + usage[bucket] end
  end
  if record.cost then row.cost = (row.cost or 0) + record.cost
  elseif record.usage or was_left(record) then row.unknown = row.unknown + 1 end
end

-- The values that a call is counted under, by name.
local function key_of(self, start, record)
  local by = self.by
  if type(by) == "function" then
    local value = by(record, start)
    return { value == nil and "" or tostring(value) }
  end
  local key = {}
  for i, name in ipairs(by) do key[i] = BY[name](self, start, record) or "" end
  return key
end

--- Takes a record (table).
function methods:record(record)
  local start = self.spans:take(record)
  if record.phase ~= "end" or record.type ~= "chat" and record.type ~= "embed" then return end
  if self.spans:has_inner(record, start, record.type) then return end
  add(self.sum, record)
  local key = key_of(self, start or {}, record)
  local place = table.concat(key, "\0")
  local row = self.rows[place]
  if not row then
    row = new_row()
    if type(self.by) == "function" then row.by = key[1]
    else for i, name in ipairs(self.by) do row[name] = key[i] end end
    self.rows[place] = row
  end
  add(row, record)
end

local function copy(row)
  local made = {}
  for name, value in next, row do made[name] = value end
  return made
end

--- The rows so far: an array of {calls, failed, retried = further attempts, input_tokens, …, cost = USD of the calls
-- whose price is known (nil: none), unknown = calls that used tokens at an unknown price, or were left before the
-- provider said how many} with a field for each name of `by` ("" where a call has none), or `by`; sorted by these.
function methods:table()
  local places, list = {}, {}
  for place in next, self.rows do places[#places + 1] = place end
  table.sort(places, core.before)
  for i, place in ipairs(places) do list[i] = copy(self.rows[place]) end
  return list
end

--- The same of all calls together, one row.
function methods:total() return copy(self.sum) end

local function cell(value)
  if value == nil then return "-" end
  return math.type(value) == "float" and ("%.6f"):format(value) or tostring(value)
end

local COLUMNS = { "calls", "failed", "retried", "input_tokens", "output_tokens", "cache_read_tokens", "cost",
  "unknown" }

-- A table of texts, each column as wide as its widest.
local function aligned(lines)
  local widths = {}
  for _, line in ipairs(lines) do
    for i, text in ipairs(line) do widths[i] = math.max(widths[i] or 0, utf8.len(text) or #text) end
  end
  local texts = {}
  for n, line in ipairs(lines) do
    local cells = {}
    for i, text in ipairs(line) do cells[i] = text .. (" "):rep(widths[i] - (utf8.len(text) or #text)) end
    texts[n] = table.concat(cells, "  "):gsub(" +$", "")
  end
  return table.concat(texts, "\n")
end

--- The table as text, with a last line for all.
function cost_mt:__tostring()
  local names = type(self.by) == "function" and { "by" } or self.by
  local lines = { {} }
  for _, name in ipairs(names) do table.insert(lines[1], name) end
  for _, name in ipairs(COLUMNS) do table.insert(lines[1], name) end
  local rows = self:table()
  rows[#rows + 1] = self:total()
  for i, row in ipairs(rows) do
    local line = {}
    for n, name in ipairs(names) do line[n] = i == #rows and (n == 1 and "all" or "") or row[name] end
    for _, name in ipairs(COLUMNS) do line[#line + 1] = cell(row[name]) end
    lines[#lines + 1] = line
  end
  return aligned(lines)
end

check.colons(methods, cost_mt, "cost")

--- An observer that adds up what chats and embeds used and cost. opts.by: array of "provider", "model", "agent" (the
-- name of the agent whose run a call is a part of), "tool", "day" (in UTC); or function(end_record, start_record) →
-- what a call counts under. { "provider", "model" } when absent. Returns the observer, with methods table and total;
-- tostring gives a table as text. Raises an ArgumentError.
return function(opts)
  local given = OPTIONS(opts == nil and {} or opts)
  local by = given.by or { "provider", "model" }
  if type(by) == "table" and not by[1] then errors.argument("by", "a name at least", "an empty array") end
  return setmetatable({ by = by, rows = {}, sum = new_row(), spans = spans.new() }, cost_mt)
end
