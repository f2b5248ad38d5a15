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

local PHASES = { start = true, ["end"] = true, point = true }

-- Whether a line is a record that Koine wrote. JSON of others may have a version and a type, too.
local function is_ours(line)
  local record = record_of(line)
  return record ~= nil and PHASES[record.phase] and type(record.trace) == "string" and type(record.id) == "string"
end

-- Whether a line may be what a crash left of a record: no JSON that is whole, but the beginning of an object whose
-- first name stands behind the brace. An empty line ends one of which nothing was written.
local function may_be_cut(line)
  local text = line:match "^[^\n]*"
  return text == "" or text == "{" or text == '{"' or text:find '^{"%l' ~= nil and not json.decode(text)
end

-- How the first record of such a log begins, the start of a chat or of an agent's run: names are sorted.
local BEGINS = '^{"id":"' .. ("[%da-f]"):rep(16) .. '",([^\n]*)'
local GOES_ON = { '"max_tokens":', '"messages":', '"phase":' }

-- Whether a cut line begins, byte for byte as far as it goes, as the first one that `ask` and `chat` write. One that
-- ends before this says too little.
local function begins_as_ours(line)
  local rest = line:match(BEGINS)
  if not rest then return false end
  for _, name in ipairs(GOES_ON) do
    local n = math.min(#name, #rest)
    if name:sub(1, n) == rest:sub(1, n) then return true end
  end
  return false
end

-- Fails for a file that is no log. In a log there are only cut lines before the first record. Where all are cut, one of
-- them must begin as ours do.
local function check(path)
  local file <close> = open(path)
  local is_cut, is_known = false, false
  for line in function() return file:read "L" end do
    if is_ours(line) then return end
    if not may_be_cut(line) then cannot(path, "this is no log of koine's: name another file") end
    is_cut, is_known = true, is_known or begins_as_ours(line)
  end
  if is_cut and not is_known then
    cannot(path, "it has no whole line, and may be no log of koine's: remove it, or name another file")
  end
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
