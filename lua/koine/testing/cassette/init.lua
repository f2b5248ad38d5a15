--- Cassettes: answers of providers and talks with programs, recorded once in a file and played from then on, without a
-- network, keys and programs.
--
--   local tape <close> = koine.testing.cassette.open "spec/tapes/weather.json"
--   local claude = koine.anthropic { model = "claude-sonnet-4-5", transport = tape,
--     key = tape:key "ANTHROPIC_API_KEY" }
--   print(assert(claude:chat "Hi."):text())
--   assert(tape:finish())
--
-- A cassette is a transport (koine.net.transport, koine.system.transport): it stands below retries, so codecs, limits,
-- retries and streams work as ever. It owns what it recorded, and writes it at `finish` alone, in one step: a program
-- that dies before leaves the old file. A file that is missing or broken is no reason for the network: every request
-- then fails with that error.

local answer = require "koine.testing.cassette.answer"
local check = require "koine.data.check"
local core = require "koine.core"
local difference = require "koine.testing.cassette.difference"
local errors = require "koine.data.errors"
local file = require "koine.testing.cassette.file"
local mode = require "koine.testing.cassette.mode"
local programs = require "koine.testing.cassette.programs"
local request = require "koine.testing.cassette.request"
local scan = require "koine.testing.cassette.scan"
local secrets = require "koine.net.secrets"
local wait = require "koine.task.wait"

local cassette = {}

local methods = {}
local metatable = { __index = methods, __name = "koine.cassette" }

local CONSTANT = "koine-cassette-key" -- what `key` returns while nothing is sent
local NAMED_MAX = 5                   -- exchanges that an error names

local TEXTS = check.list(check.nonempty, "array of non-empty strings")
local OPTIONS = check.options { mode = check.one_of { "replay", "auto", "extend", "record", "live" },
  match = check.either("table or function", check.record { host = check.boolean }, check.func),
  ignore = check.default(TEXTS, function() return request.IGNORED end), repeats = check.default(check.boolean, false),
  headers = check.default(TEXTS, function() return {} end), redact = check.func,
  replace = check.default(check.map(check.string), function() return {} end),
  allow = check.default(TEXTS, function() return {} end), speed = check.default(check.number(0), 0) }
local FAULT = check.record { delay_ms = check.number(0), reset_after = check.integer(0),
  truncate_after = check.integer(0), stall_after = check.integer(0), end_after = check.integer(0) }
local ENDINGS = { "reset_after", "truncate_after", "stall_after", "end_after" } -- a fault may have one of them

-- Opening ------------------------------------------------------------------------------------------------------------

-- What a request is compared by: request.compared, and its key.
local function comparison(self, kept)
  if self.options.redact then self.options.redact { request = kept } end
  local compared = request.compared(kept, self.settings)
  return compared, request.key(compared)
end

-- Notes what each recorded request is compared by.
local function index(self)
  self.compared, self.by_key, self.played = {}, {}, {}
  for i, exchange in ipairs(self.tape.exchanges) do
    local compared = request.compared(exchange.request, self.settings)
    local key = request.key(compared)
    self.compared[i], self.played[i] = compared, 0
    local list = self.by_key[key] or {}
    self.by_key[key], list[#list + 1] = list, i
  end
end

local function set_of(names)
  local set = {}
  for _, name in ipairs(names) do set[name:lower()] = true end
  return set
end

-- Both lists, the second of which may be nil, as a new one.
local function joined(first, second)
  second = second or {}
  return table.move(second, 1, #second, #first + 1, table.move(first, 1, #first, 1, {}))
end

local function failure(self, words, code)
  return errors.new { kind = "connect", code = code or "cassette", retryable = false,
    message = secrets.hide(("cassette %s: %s"):format(self.path, words), self.known) }
end

-- Notes an error that `finish` returns, and makes it of its words.
local function refuse(self, words)
  local err = failure(self, words)
  self.refused = self.refused or err
  return err
end

-- The credentials that no copy of a line may show: those that are known, and these.
local function secrets_with(self, more)
  local list = joined(self.known, more)
  list[#list + 1] = CONSTANT
  return list
end

--- Opens the cassette of a file (path: string); never fails: what is wrong with the file, every request and `finish`
-- say. Options, of which all may be missing:
--   mode      "replay", "auto" (default), "extend", "record", "live"; the variable KOINE_CASSETTE wins, and where CI is
--             set (and not "", "0" or "false") the mode is "replay" without it
--   match     {host = false}: the host is not compared; or function(request, recorded) → whether they match
--   ignore    array of dotted paths of JSON bodies that are not compared
--   repeats   true: the last of equal requests is played again and again
--   headers   array of names: further headers to keep
--   redact    function(exchange) that changes what is kept: {request, response}; of a request to compare, {request}
--   replace   {[text] = what stands there in the file}
--   allow     array of texts: what looks like a credential and holds one of them may be written
--   speed     0 (default): all is there at once; 1: as recorded; 10: ten times faster
-- Raises an ArgumentError.
function cassette.open(path, options)
  check.path(path, "path")
  local kept = OPTIONS(options == nil and {} or options)
  local self = setmetatable({ path = path, options = kept, mode = mode.chosen(kept.mode), known = {}, recorded = {},
    refuse = refuse, secrets_with = secrets_with,
    recorded_programs = {}, starts = {}, lines_size = 0, started = {}, faults = {}, passed = 0, latest = false,
    replace = request.replacements(kept.replace), restore = request.restorations(kept.replace),
    named = set_of(kept.headers),
    settings = { ignore = kept.ignore, host = type(kept.match) ~= "table" or kept.match.host } }, metatable)
  local found, words
  if self.mode ~= "live" then found, words = file.read(path) end
  self.plays = mode.plays(self.mode, found ~= nil) or false
  self.records = mode.records(self.mode, found ~= nil)
  self.tape = found and self.mode ~= "record" and found or file.new()
  if words and self.mode ~= "record" then
    self.failure = failure(self, words)
  elseif self.plays and not found then
    self.failure = failure(self, "there is no such file (record it with KOINE_CASSETTE=record)")
  end
  index(self)
  return self
end

--- A key for an adapter: the value of that variable (string), which never reaches the file; a constant while answers
-- are played; nil where the variable is not set.
function methods:key(name)
  check.name(name, "name")
  local value = os.getenv(name)
  if self.plays and not (self.records and value) then return CONSTANT end
  if value and value ~= "" then
    self.known[#self.known + 1] = value
    return value
  end
  return nil
end

-- Playing ------------------------------------------------------------------------------------------------------------

-- The recorded exchange for a request that was not played, or may be repeated: its index; nil, true where all equal
-- ones were played.
local function find(self, kept, key)
  local list = self.by_key[key] or {}
  if type(self.options.match) == "function" then
    list = {}
    for i, exchange in ipairs(self.tape.exchanges) do
      if self.options.match(kept, exchange.request) then list[#list + 1] = i end
    end
  end
  for _, i in ipairs(list) do
    if self.played[i] == 0 then return i end
  end
  local last = list[#list]
  if last and self.options.repeats then return last end
  return nil, last ~= nil
end

-- The words for a request that is not on the tape.
local function unknown(self, kept, compared, exhausted)
  local what = ("no recording of %s %s"):format(kept.method, kept.url)
  if exhausted then return what .. " is left: all equal ones were played (repeats = true plays the last one again)" end
  local candidates = {}
  for i, one in ipairs(self.compared) do candidates[i] = { name = ("exchanges[%d]"):format(i), compared = one } end
  return ("%s: %s (delete the file, or KOINE_CASSETTE=record records anew)"):format(what,
    difference.words(candidates, compared))
end

-- Plays exchange number i.
local function play(self, i)
  self.played[i] = self.played[i] + 1
  self.passed = self.passed + (self.latest and self.latest:reached() or 0)
  local exchange = self.tape.exchanges[i]
  local age = math.type(exchange.recorded) == "integer" and os.time() - exchange.recorded or nil
  self.latest = answer.played(exchange.response, { speed = self.options.speed, unwaited = self.unwaited, age = age,
    path = self.path, name = ("exchanges[%d]"):format(i) }, self.faults[i])
  return self.latest
end

-- What is kept of a call until the end.
local function note(self, call)
  for _, secret in ipairs(call.secrets or {}) do self.known[#self.known + 1] = secret end
  local recording, headers = core.recording(), {}
  for name, value in next, call.headers or {} do headers[name] = value end
  self.recorded[#self.recorded + 1] = { recording = recording, time = os.time(),
    call = { method = call.method, url = call.url, headers = headers, body = call.body,
      with_secrets = #(call.secrets or {}) > 0 } }
  return recording
end

--- Answers a request, as koine.net.transport says: with a recorded answer, by one to be recorded, or not at all.
function methods:begin(call)
  local err = self.failure or self.ended and failure(self, "it was closed")
  if err then return nil, err end
  if self.plays then
    local kept = request.kept(call, joined(self.known, call.secrets), self.replace, self.named)
    local compared, key = comparison(self, kept)
    local i, exhausted = find(self, kept, key)
    if i then return play(self, i) end
    if not self.records then return nil, refuse(self, unknown(self, kept, compared, exhausted)) end
  end
  return self.records and note(self, call)
end

--- Stands in a program's place, as koine.system.transport says: plays it, records it, or starts it.
function methods:program(call, start)
  local err = self.failure or self.ended and failure(self, "it was closed")
  if err then return nil, err end
  if self.plays then
    local program, problem = programs.play(self, call)
    if program or problem then return program, problem end
  end
  if not self.records then return start() end
  return programs.record(self, call, start)
end

-- A fault as it is kept: delay_ms, one of ENDINGS, or both.
local function checked_fault(fault)
  local kept, names = FAULT(fault, "fault"), {}
  for _, name in ipairs(ENDINGS) do
    if kept[name] then names[#names + 1] = name end
  end
  if #names > 1 or next(kept) == nil then
    core.raise_argument("fault", "delay_ms, one of " .. table.concat(ENDINGS, ", ") .. ", or delay_ms and one of them",
      names[1] and table.concat(names, " and ") or "an empty table")
  end
  return kept
end

--- Lays a fault over the answer of exchange number i (integer), each time that it is played: {delay_ms, one of
-- reset_after, truncate_after, stall_after, end_after = bytes of the body}, or one of both; 0 bytes is before the head,
-- but for end_after. The delay is waited at every speed. nil takes the fault away. Raises an ArgumentError, also where
-- nothing is played.
function methods:fault(i, fault)
  local count = #self.tape.exchanges
  if fault ~= nil and not self.plays then
    core.raise_argument("fault", "a cassette that plays", ("one in the mode %s that plays nothing"):format(self.mode))
  end
  check.integer(1, self.failure and math.maxinteger or math.max(1, count))(i, "i")
  self.faults[i] = fault ~= nil and checked_fault(fault) or nil
end

--- The number of recorded exchanges.
function methods:count() return #self.tape.exchanges end

--- A clock for the adapter's option `clock`: from now on answers take the recorded times, which pass at once, and so
-- do the waits between attempts. It counts one call after the other. While answers are recorded it is the real one.
function methods:clock()
  if not self.plays then return { now = wait.now, park = wait.park } end
  self.unwaited = true
  local began, slept = wait.now(), 0
  return {
    now = function() return began + slept + self.passed + (self.latest and self.latest:reached() or 0) end,
    park = function(_, seconds)
      slept = slept + (seconds or 0)
      local done, err = wait.sleep(0)
      if not done then return nil, err end
      return false
    end,
  }
end

-- Writing ------------------------------------------------------------------------------------------------------------

-- What the recorded is added to: of mode extend the file as it is now, which another cassette may have added to; nil,
-- err where it cannot be used any more.
local function base_of(self)
  if self.mode ~= "extend" then return self.tape end
  local found, words = file.read(self.path)
  if words then return nil, failure(self, words) end
  return found or self.tape
end

-- Writes what was recorded: true, or nil, err and the old file.
local function write(self)
  local known = joined(self.known)
  programs.find_secrets(self, known)
  local new, failed = answer.exchanges(self, known)
  local talks, words = programs.kept(self, known), failed or programs.failed(self)
  if words and self.mode ~= "record" then
    return nil, failure(self, ("not written: %s; every later run would get that (put it right and run again; "
      .. "KOINE_CASSETTE=record keeps it)"):format(words))
  end
  if #new == 0 and #talks == 0 then
    if self.mode == "extend" then return true end
    return nil, failure(self, "nothing was recorded")
  end
  local base, err = base_of(self)
  if not base then return nil, err end
  local tape = {}
  for name, value in next, base do tape[name] = value end
  tape.exchanges = core.array(joined(base.exchanges, new))
  if #talks > 0 then tape.programs = core.array(joined(base.programs or {}, talks)) end
  local path, held = scan.tape(tape, known, self.options.allow)
  if path then
    return nil, failure(self, ("not written: %s holds %s (the option redact changes it%s)"):format(path, held,
      held:find "^what looks" and ", allow keeps what is none" or ""), "secret")
  end
  return file.write(self.path, tape)
end

-- The first of some names.
local function first_of(names)
  return table.concat(names, ", ", 1, math.min(#names, NAMED_MAX)) .. (#names > NAMED_MAX and ", …" or "")
end

-- The error that names what was not played; nil where all was.
local function unplayed(self)
  local names, others = {}, {}
  for i, count in ipairs(self.played) do
    local one = self.tape.exchanges[i].request
    if count == 0 then names[#names + 1] = ("exchanges[%d] %s %s"):format(i, one.method, one.url) end
  end
  programs.unplayed(self, others)
  local words = {}
  if names[1] then
    words[1] = ("%d of %d exchanges were not played: %s"):format(#names, #self.played, first_of(names))
  end
  if others[1] then words[#words + 1] = "of its programs was not played: " .. first_of(others) end
  if words[1] then return failure(self, table.concat(words, "; ")) end
end

-- The error that a cassette ends with; nil for none.
local function settle(self)
  local err = self.failure or self.refused
  if not err and self.records then
    local _
    _, err = write(self)
  elseif not err and self.plays then
    err = unplayed(self)
  end
  return err
end

--- Ends the cassette: true; nil, err where a request was not on the tape, an exchange was not played (modes replay and
-- auto), nothing was recorded, what was recorded is no answer (modes auto and extend: nothing was reached, or the
-- credentials were refused), or the file cannot be written: the old one then stays. An answer that is still read is
-- kept as far as it came. The same result every time.
function methods:finish()
  if not self.finished then
    self.finished, self.ended = true, true
    self.problem = settle(self)
  end
  if self.problem then return nil, self.problem end
  return true
end

--- Ends the cassette without writing anything. Any number of times.
function methods:close() self.ended = true end

check.colons(methods, metatable, "cassette")
metatable.__close = methods.close

--- "koine.cassette (replay, PATH)".
function metatable:__tostring() return ("koine.cassette (%s, %s)"):format(self.mode, self.path) end

--- Looks for credentials in the cassette of a file (path: string), as `finish` does before it writes: true; nil, err
-- where there are some, or the file cannot be read. `allow`: as of open. Raises an ArgumentError.
function cassette.check(path, allow)
  check.path(path, "path")
  local function problem(code, words)
    return nil, errors.new { kind = "other", code = code, message = ("cassette %s: %s"):format(path, words) }
  end
  local found, words = file.read(path)
  if not found then return problem(words and "cassette" or "absent", words or "there is no such file") end
  local where
  where, words = scan.tape(found, {}, allow == nil and {} or TEXTS(allow, "allow"))
  if where then return problem("secret", ("%s holds %s"):format(where, words)) end
  return true
end

return cassette
