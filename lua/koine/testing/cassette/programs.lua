--- Programs on a cassette, such as servers of MCP and agents of ACP: what was said to them and what they said, line by
-- line. A recorded program is {command, args, lines, ended}, see lines.lua; `ended` is {ms, code | signal} where it
-- ended by itself. Each is played or recorded as a whole, from its start to its end; the cassette owns neither.
--
-- A played program matches our lines by what they say, in any order, and says its own in the order in which they came,
-- each as soon as all of ours were said that had been said before it. After a line that is not on the tape all fails.

local core = require "koine.core"
local cut = require("koine.data.text").cut
local defer = require "koine.task.defer"
local difference = require "koine.testing.cassette.difference"
local errors = require "koine.data.errors"
local lines = require "koine.testing.cassette.lines"
local request = require "koine.testing.cassette.request"
local secrets = require "koine.net.secrets"
local wait = require "koine.task.wait"

local programs = {}

local LINES_MAX = 64 << 20 -- bytes of all lines that a tape keeps: a program may say anything
local LOG_MAX = 64 << 10   -- bytes of standard error that a result shows
local ARGS_MAX = 100       -- bytes of a program's arguments that an error shows

local function milliseconds(seconds) return math.floor(seconds * 1000 + 0.5) end

-- Recording ----------------------------------------------------------------------------------------------------------

local recorded = {}

-- The field `ended` is the program's own.
local function look_up(self, name)
  if name == "ended" then return self.program.ended end
  return recorded[name]
end

local recorded_mt = { __index = look_up, __name = "koine.cassette.recorded",
  __close = function(self) self:close() end }

local function note(self, field, text)
  local tape = self.tape
  if tape.ended or tape.refused then return end
  tape.lines_size = tape.lines_size + #text
  if tape.lines_size > LINES_MAX then
    tape:refuse(("%s: the lines are longer than %d MiB, which is too much for a tape"):format(self.argv[1],
      LINES_MAX >> 20))
    return
  end
  self.noted[#self.noted + 1] = { ms = milliseconds(wait.now() - self.began), [field] = text }
end

function recorded:line()
  local line, err = self.program:line()
  if line then
    note(self, "came", line)
  elseif not err and not self.closed and not self.over then
    self.over = milliseconds(wait.now() - self.began)
  end
  return line, err
end

function recorded:write(bytes)
  for line in bytes:gmatch "[^\n]+" do note(self, "sent", line) end
  return self.program:write(bytes)
end

function recorded:stop() self.program:stop() end

function recorded:result() return self.program:result() end

function recorded:hide(secret) table.insert(self.tape.known, secret) end

function recorded:close()
  self.closed = true
  self.program:close()
end

--- Starts a program (a function, as koine.system.transport has it) whose lines the tape keeps: it, or nil, err.
function programs.record(tape, call, start)
  for _, secret in ipairs(call.secrets) do table.insert(tape.known, secret) end
  local self = setmetatable({ tape = tape, program = false, argv = table.move(call.argv, 1, #call.argv, 1, {}),
    noted = {}, began = wait.now(), closed = false, over = false }, recorded_mt)
  local program, err = start(function(line)
    note(self, "logged", line)
    if call.on_stderr then call.on_stderr(line) end
  end)
  table.insert(tape.starts, { argv = self.argv, recorded = program and self, err = err })
  if not program then return nil, err end
  self.program = program
  table.insert(tape.recorded_programs, self)
  return self
end

local function clean_text(text, known, replace) return request.substituted(secrets.hide(text, known), replace) end

-- The command line in the form that is kept.
local function kept_argv(argv, known, replace)
  local args = core.array {}
  for i = 2, #argv do args[i - 1] = clean_text(argv[i], known, replace) end
  return { command = clean_text(argv[1], known, replace), args = args }
end

local function kept_one(self, known, replace)
  local kept = kept_argv(self.argv, known, replace)
  kept.lines = core.array {}
  for i, one in ipairs(self.noted) do
    if one.logged then
      kept.lines[i] = { ms = one.ms, logged = lines.kept_log(one.logged, known, replace) }
    else
      local field = one.sent and "sent" or "came"
      kept.lines[i] = { ms = one.ms, [field] = lines.kept(one[field], field == "sent", known, replace) }
    end
  end
  if self.over then
    local result = self.program.ended and self.program.ended.result or {}
    kept.ended = { ms = self.over, code = result.code, signal = result.signal }
  end
  return kept
end

--- Adds to `known` the credentials that fields of the recorded lines hold.
function programs.find_secrets(tape, known)
  for _, one in ipairs(tape.recorded_programs) do
    for _, line in ipairs(one.noted) do secrets.hide_fields(line.sent or line.came or line.logged, known) end
  end
end

--- What was recorded, without the credentials `known` (an array): an array of programs.
function programs.kept(tape, known)
  local list = {}
  for i, one in ipairs(tape.recorded_programs) do
    list[i] = kept_one(one, known, tape.replace)
    if tape.options.redact then tape.options.redact(list[i]) end
  end
  return list
end

-- What a start of a program failed with, in words; nil where the program said something.
local function failure_of(start)
  local one = start.recorded
  if not one then return ("could not be started (%s)"):format(errors.words(start.err)) end
  for _, line in ipairs(one.noted) do
    if line.came then return nil end
  end
  local result = one.over and one.program.ended and one.program.ended.result
  if not result then return "said nothing" end
  return ("said nothing and ended (%s)"):format(result.code and "exit code " .. result.code
    or "signal " .. tostring(result.signal))
end

--- The words for a program that could not be started, or never said a line, and where no later start of its command
-- line went better; nil for none.
function programs.failed(tape)
  local well, found = {}, nil
  for i = #tape.starts, 1, -1 do
    local start = tape.starts[i]
    local key, words = table.concat(start.argv, "\0"), failure_of(start)
    if not words then
      well[key] = true
    elseif not well[key] then
      found = ("the program %s %s"):format(start.argv[1], words)
    end
  end
  return found
end

-- Playing ------------------------------------------------------------------------------------------------------------

local played = {}
local played_mt = { __index = played, __name = "koine.cassette.played", __close = function(self) self:close() end }

-- What a kept line of ours is compared by, and its key.
local function comparison(self, kept)
  if self.tape.options.redact then
    local one = { lines = { { sent = kept } } }
    self.tape.options.redact(one)
    kept = one.lines[1].sent
  end
  local compared = lines.compared(kept, self.back, self.tape.options.ignore)
  return compared, request.key(compared)
end

-- What our recorded lines are compared by: {compared, key} by their place.
local function index(self)
  local list = {}
  for i, line in ipairs(self.lines) do
    if line.sent ~= nil then
      local compared = lines.compared(line.sent, nil, self.tape.options.ignore)
      list[i] = { compared = compared, key = request.key(compared) }
    end
  end
  return list
end

-- What to do about words that say what is not on the tape.
local function advice(tape)
  return tape.records and " (what is played cannot be extended: KOINE_CASSETTE=record records all anew)"
    or " (delete the file, or KOINE_CASSETTE=record records anew)"
end

-- The error of a line that is not on the tape, or was played.
local function unknown(self, compared)
  local what, candidates = ("no recording of %s in %s"):format(compared.method, self.name), {}
  for i = 1, #self.lines do
    local one = self.ours[i]
    if one and not self.said[i] then
      candidates[#candidates + 1] = { name = ("%s.lines[%d]"):format(self.name, i), compared = one.compared }
    end
  end
  if not candidates[1] then
    return self.tape:refuse(what .. " is left: all lines were played" .. advice(self.tape))
  end
  what = what .. ": " .. difference.words(candidates, compared)
  local at = self.at
  while self.said[at] do at = at + 1 end
  local awaited = self.ours[at]
  if awaited then what = ("%s; the next to say is lines[%d] %s"):format(what, at, awaited.compared.method) end
  return self.tape:refuse(what .. advice(self.tape))
end

-- Takes a line of ours: nil, or the error.
local function take(self, text)
  local kept = lines.kept(text, true, self.known, self.tape.replace)
  local compared, key = comparison(self, kept)
  for i = 1, #self.lines do
    local one = self.ours[i]
    if one and one.key == key and not self.said[i] then
      self.said[i] = true
      lines.pair(core.decode(text), self.lines[i].sent, self.ids, self.tokens, self.back)
      return nil
    end
  end
  return unknown(self, compared)
end

local function closed_error()
  return errors.new { kind = "cancelled", message = "the program was closed" }
end

function played:write(bytes)
  if self.closed then return nil, closed_error() end
  for line in bytes:gmatch "[^\n]+" do
    self.err = self.err or take(self, line)
    if self.err then break end
  end
  wait.wake(self)
  if self.err then return nil, self.err end
  return true
end

-- Goes on behind our lines that were said. Returns what comes next, a line of the program's or its end; nil where ours
-- is missing, or nothing comes.
local function next_one(self)
  while self.said[self.at] do
    self.reached, self.time = self.lines[self.at].ms, wait.now()
    self.at = self.at + 1
  end
  if self.ours[self.at] then return nil end
  return self.lines[self.at] or self.program.ended or nil
end

-- Seconds until it comes.
local function rest(self, one)
  local speed = self.tape.options.speed
  if speed == 0 or self.tape.unwaited then return 0 end
  return self.time + math.max(0, one.ms - self.reached) / 1000 / speed - wait.now()
end

-- Tells a line of standard error.
local function tell(self, one)
  local text = request.substituted(one.logged, self.tape.restore)
  self.log = (self.log .. text .. "\n"):sub(-LOG_MAX)
  if self.on_stderr then self.on_stderr(text) end
end

function played:line()
  while true do
    if self.err then return nil, self.err end
    if self.closed then return nil, closed_error() end
    local one = next_one(self)
    local seconds = one and rest(self, one)
    if seconds and seconds <= 0 then
      if one == self.program.ended then return nil end
      self.at, self.reached, self.time = self.at + 1, one.ms, wait.now()
      if one.came ~= nil then return lines.played(one.came, self.ids, self.tokens, self.tape.restore) end
      tell(self, one)
    else
      local _, cancelled = wait.park(self, seconds or nil)
      if cancelled then return nil, cancelled end
    end
  end
end

-- How it ended, as koine.process.run says it; nil after a line that is not on the tape: nobody knows.
local function result_of(self)
  if self.err then return nil end
  local ended = self.program.ended or {}
  return { code = ended.code or not ended.signal and 0 or nil, signal = ended.signal, stdout = "", stderr = self.log,
    timed_out = false, dropped = { stdout = 0, stderr = 0 } }
end

function played.stop() end

function played:result()
  if self.ended then return self.ended.result end
  return result_of(self)
end

function played:hide(secret) table.insert(self.known, secret) end

-- Ends it. What it still logged then is told, up to the next of our lines; what it said is dropped, as a program's is.
function played:close()
  if self.closed then return end
  self.closed = true
  local _ <close> = defer(function()
    self.ended = { result = result_of(self) }
    wait.wake(self)
  end)
  while not self.err do
    local one = next_one(self)
    if not one or one == self.program.ended then break end
    self.at = self.at + 1
    if one.logged then tell(self, one) end
  end
end

-- The next recorded program with that command line, which was not played: its place. nil where there is none; and,
-- where one of them was played, that one: first of all one that failed.
local function find(tape, argv)
  local key, place, played_one = core.encode(argv), nil, nil
  for i, one in ipairs(tape.tape.programs or {}) do
    if core.encode { command = one.command, args = core.array(one.args or {}) } == key then
      local started = tape.started[i]
      if started and started.err then return nil, started end
      place, played_one = place or not started and i or nil, started or played_one
    end
  end
  return place, played_one
end

-- The error of a program that is not on the tape. `equal`: one with its command line that was played, or nil.
local function unknown_program(tape, argv, equal)
  local args, was_cut = cut(core.encode(argv.args), ARGS_MAX)
  local what, names = ("no recording of program %s %s"):format(argv.command, was_cut and args .. "…" or args), {}
  for place, one in ipairs(tape.tape.programs or {}) do
    if not tape.started[place] then names[#names + 1] = ("programs[%d] %s"):format(place, one.command) end
  end
  local others = names[1] and "left is " .. names[1] or "it has no other programs"
  what = what .. (equal and " is left: all equal ones were played" or ": " .. others)
  return tape:refuse(what .. advice(tape))
end

--- The recorded program for a call: an object to talk to, as koine.process.open makes them; nil, err where there is
-- none, and for a command line where a line was not on the tape: that error again. nil where it may be recorded.
function programs.play(tape, call)
  local known = tape:secrets_with(call.secrets)
  local argv = kept_argv(call.argv, known, tape.replace)
  local i, equal = find(tape, argv)
  if not i and equal and equal.err then return nil, equal.err end
  if not i and tape.records then return nil end
  if not i then return nil, unknown_program(tape, argv, equal) end
  local program = tape.tape.programs[i]
  local self = setmetatable({ tape = tape, program = program, name = ("programs[%d]"):format(i), lines = program.lines,
    known = known, on_stderr = call.on_stderr or false, said = {}, ids = {}, tokens = {}, back = {}, at = 1,
    reached = 0, time = wait.now(), err = false, closed = false, ended = false, log = "" }, played_mt)
  self.ours = index(self)
  tape.started[i] = self
  return self
end

--- Adds the names of programs that were not started, and of lines of ours that were not said, to an array.
function programs.unplayed(tape, names)
  for i, program in ipairs(tape.tape.programs or {}) do
    local self = tape.started[i]
    if not self then names[#names + 1] = ("programs[%d] %s"):format(i, program.command) end
    for place = 1, self and #self.lines or 0 do
      if self.ours[place] and not self.said[place] then
        names[#names + 1] = ("%s.lines[%d] %s"):format(self.name, place, self.ours[place].compared.method)
      end
    end
  end
end

return programs
