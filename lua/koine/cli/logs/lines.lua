--- A log of lines of JSON, as koine.observe.jsonl writes them: the records of observers, which `koine trace` reads, and
-- after those of an exchange one of type "exchange". Processes may add to it at once; a line that a crash cut off, and
-- any other that is damaged, is left out.

local failure = require "koine.cli.failure"
local is_entry = require "koine.cli.logs.entry"
local json = require "koine.cli.json"
local koine = require "koine"

local lines = {}

local methods = {}
local metatable = { __index = methods }

local function cannot(path, why) failure.fail(failure.FAILED, "%s: %s", path, why) end

local function record_of(line)
  local record = json.decode(line)
  return record and math.type(record.v) == "integer" and type(record.type) == "string" and record or nil
end

local function open(path)
  local file, why = io.open(path, "rb")
  return file or cannot(path, why)
end

-- Fails for a file that is no log.
local function check(path)
  local file <close> = open(path)
  local first = file:read "L"
  if not first or record_of(first) then return end
  local may_be_cut = first:sub(-1) ~= "\n" and first:find '^{"?%l?' -- of the first record
  if not may_be_cut then cannot(path, "this is no log of koine's") end
end

--- The log at `path`, which is there. With `writes` exchanges can be added.
function lines.open(path, writes)
  check(path)
  local self = setmetatable({ path = path }, metatable)
  if writes then
    local err
    self.file, err = koine.observe.jsonl(path)
    if not self.file then cannot(path, err.message) end
  end
  return self
end

--- Adds a record (table): true, or nil and why not.
function methods:add(record)
  local done, err = pcall(self.file.record, self.file, record)
  if not done then return nil, type(err) == "table" and err.message or tostring(err) end
  return true
end

--- A record of an observer's, kept beside the exchanges. Raises where it cannot be written.
function methods:observe(record) self.file:record(record) end

local function begins(text, with) return not with or text:sub(1, #with) == with end
local function has(text, part) return text:lower():find(part, 1, true) ~= nil end

local function fits(entry, wanted)
  return begins(entry.id, wanted.id) and begins(entry.conversation, wanted.conversation)
    and (not wanted.model or has(entry.model, wanted.model:lower()))
    and (not wanted.search or has(entry.prompt .. "\n" .. entry.answer, wanted.search:lower()))
end

--- The last `wanted.last` (nil: all) exchanges that fit: an array, the oldest first. wanted: {id, conversation: how
-- these begin; model, search: texts that they hold; nil for any}.
function methods:find(wanted)
  local found = {}
  local file <close> = open(self.path)
  for line in file:lines "L" do
    local entry = line:find('"exchange"', 1, true) and record_of(line)
    if is_entry(entry) and fits(entry, wanted) then
      found[#found + 1] = entry
      if wanted.last and #found > 2 * wanted.last then
        found = table.move(found, #found - wanted.last + 1, #found, 1, {})
      end
    end
  end
  local first = wanted.last and math.max(1, #found - wanted.last + 1) or 1
  return table.move(found, first, #found, 1, {})
end

--- Closes it. Any number of times.
function methods:close()
  if self.file then self.file:close() end
  self.file = nil
end
metatable.__close = methods.close

return lines
