--- Sessions by way of a program that is a whole agent itself: it is started in the working directory, gets the task on
-- its standard input, and writes what happens as lines of JSON.
-- A program is data, a definition (session/cli/NAME.lua):
--   name      what it is called in errors;  program  what it is called in PATH
--   flags     array of arguments that are always given; `flags` of the options may replace them
--   required  array of flags without which nothing is started, and by role those of the role alone
--   roles     role → array of further arguments
--   output    array of arguments that ask for lines of JSON;  model  the argument before the model id
--   lines     type of a line → function(line, sink); `line` is the decoded object. The sink has output(text) and
--             reasoning(text), where false and nil are no event; call(name, input, id), `input` being JSON text;
--             result(text, name, id); usage(tokens_in, tokens_out) and done(status)
-- The program has tools of its own, which run where and as it likes: allowed_tools is only compared with what it says
-- that it did.

local core = require "koine.core"
local check = require "koine.data.check"
local context = require "koine.session.context"
local errors = require "koine.data.errors"
local frame = require "koine.session.runner"
local inputs = require "koine.session.input"
local process = require "koine.system.process"
local prohibited = require "koine.session.prohibited"
local rows = require "koine.provider"
local texts = require "koine.system.executor.text"
local verdicts = require "koine.session.outcome"

local cli = {}

local TIMEOUT = 3600        -- seconds
local OUTPUT_MAX = 64 << 20 -- bytes
local TAIL = 300            -- bytes of the standard error that a reason shows

-- Inputs that a program knows nothing of.
local IGNORED = { "executor", "system", "options", "on_delta", "max_rounds", "max_tokens_total", "deadline_seconds",
  "ignore_unknown_tools" }

-- Lines -------------------------------------------------------------------------------------------------------------

-- A string, nil for anything else.
local function string_of(value) return type(value) == "string" and value or nil end

-- What a definition hands the events of a line to; they are added to the array `events`.
local function sink_of(events)
  local sink = {}
  local function add(event) events[#events + 1] = event end
  function sink.output(text) if text then add { kind = "output", content = text } end end
  function sink.reasoning(text) if text then add { kind = "reasoning", content = text } end end
  function sink.call(name, input, id)
    add { kind = "tool_call", tool_name = string_of(name), tool_input = input, tool_call_id = string_of(id) }
  end
  function sink.result(text, name, id)
    add { kind = "tool_result", content = text or "", tool_name = string_of(name), tool_call_id = string_of(id) }
  end
  return sink
end

local STATUS = { success = "completed", completed = "completed", cancelled = "blocked" }

--- The outcome that a program's word for its end means.
function cli.outcome(status) return STATUS[status] or "error" end

--- Reads the lines that a program wrote: {events (array of fields), usage = {tokens_in, tokens_out, incomplete},
-- verdict}. Blank lines, lines that are no JSON object, and types that the definition does not know are passed over; of
-- several usages the last counts, of several ends the worst.
function cli.parse(definition, text)
  local parsed = { events = {}, usage = { incomplete = true }, verdict = verdicts.new() }
  local sink = sink_of(parsed.events)
  function sink.usage(tokens_in, tokens_out)
    tokens_in, tokens_out = math.tointeger(tokens_in), math.tointeger(tokens_out)
    parsed.usage = { tokens_in = tokens_in, tokens_out = tokens_out,
      incomplete = not (tokens_in and tokens_out) or nil }
  end
  function sink.done(status)
    status = tostring(status)
    parsed.verdict:worsen(cli.outcome(status), ("%s: %s"):format(definition.name, status))
  end
  for line in text:gmatch "[^\r\n]+" do
    local object = line:find "^%s*{" and core.decode(line)
    local read = type(object) == "table" and definition.lines[object.type]
    if read then read(object, sink) end
  end
  return parsed
end

--- The text of a member of a line: a string, or the joined texts of an array of parts; nil for anything else.
function cli.text(value)
  if type(value) == "string" then return value end
  if type(value) ~= "table" then return nil end
  local parts = {}
  for _, part in ipairs(value) do
    local text = type(part) == "table" and part.text or part
    if type(text) == "string" then parts[#parts + 1] = text end
  end
  return parts[1] and table.concat(parts) or nil
end

-- The command -------------------------------------------------------------------------------------------------------

local function append(list, more) table.move(more or {}, 1, #(more or {}), #list + 1, list) end

-- The argument vector of a session.
local function command(self, input)
  local definition, argv = self.definition, { self.options.program or self.definition.program }
  append(argv, self.options.flags or definition.flags)
  append(argv, not self.options.flags and definition.roles[input.role] or nil)
  append(argv, definition.output)
  argv[#argv + 1], argv[#argv + 2] = definition.model, input.model
  return argv
end

-- The required flag that the argument vector lacks, or nil.
local function unlocked(definition, role, argv)
  local given = {}
  for i = 2, #argv do given[argv[i]] = true end
  for _, list in ipairs { definition.required, definition.required[role] or {} } do
    for _, flag in ipairs(list) do
      if not given[flag] then return flag end
    end
  end
end

-- What went wrong -----------------------------------------------------------------------------------------------------

-- The text without the credentials that the environment holds under any of the names that Koine's rows know.
local function redacted(text, env)
  for _, name in ipairs(rows.names) do
    for _, variable in ipairs(rows.load(name).env or {}) do
      local secret = env and env[variable] or not env and os.getenv(variable)
      if secret and #secret >= 8 then text = text:gsub(secret:gsub("%p", "%%%0"), "[redacted]") end
    end
  end
  return text
end

-- The end of what the program wrote to its standard error, on one line, or "".
local function tail(done, env)
  local text = redacted(texts.repair(done.stderr), env):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
  if #text > TAIL then text = "…" .. text:sub(utf8.offset(text, 0, #text - TAIL) or -TAIL) end
  return text == "" and "" or ": " .. text
end

-- Judges how the program ended.
local function judge(self, frm, done, parsed)
  local judged, name = frm.verdict, self.definition.name
  local function fail(text)
    judged:fail(errors.new { kind = "other", code = "program", message = name .. ": " .. text .. tail(done, self.env) })
  end
  if done.timed_out then
    fail(("timed out after %g seconds"):format(self.options.timeout or TIMEOUT))
  elseif done.signal then
    fail("ended by signal " .. done.signal)
  elseif done.code ~= 0 and parsed.verdict.outcome ~= "blocked" then -- who was cancelled may say so this way too
    fail("exit code " .. done.code)
  elseif done.dropped.stdout > 0 then
    fail "too much output"
  elseif #parsed.events == 0 then
    fail "no output"
  elseif parsed.verdict.outcome == "error" then
    fail((parsed.verdict.reason:gsub("^" .. name .. ": ", "")))
  end
  judged:worsen(parsed.verdict.outcome, parsed.verdict.reason)
end

-- Enters a tool call: the audit log, and the verdict where it must not be. The program has run it already.
local function check_call(frm, event, allowed)
  local arguments = event.tool_input and core.decode(event.tool_input)
  local reason = prohibited.within(type(arguments) == "table" and arguments or event.tool_input)
  if reason then frm.verdict:worsen("blocked", "prohibited: " .. reason) end
  frame.audit(frm, { tool_name = event.tool_name or "", tool_input = type(arguments) == "table" and arguments or {},
    not_allowed = not allowed[event.tool_name] or nil, block_reason = reason and "prohibited: " .. reason or nil,
    timestamp = core.wall() })
end

-- Work --------------------------------------------------------------------------------------------------------------

local work = {}
local work_mt = { __index = work }

-- The session could not even begin: one event says why.
local function refuse(self, frm, err)
  frm.verdict:fail(err)
  frame.tell(frm, { kind = "output", content = ("%s: %s"):format(self.definition.name, err.message) })
  return false
end

-- Runs the program: process.run's result, or nil, err.
local function start(self, frm, message)
  local argv = command(self, self.input)
  local missing = unlocked(self.definition, self.input.role, argv)
  if missing then
    return nil, errors.new { kind = "other", code = "lockdown", message = "lockdown: " .. missing .. " is missing" }
  end
  return frame.apart(frm, process.run, argv, { cwd = self.input.workdir, stdin = message, env = self.env,
    timeout = self.options.timeout or TIMEOUT, output_max = OUTPUT_MAX })
end

--- The whole session in one step; see runner.lua.
function work:step(frm)
  local message, about = context.message(self.input)
  if not message then return refuse(self, frm, about) end
  frm.facts.skipped_context, frm.facts.cut_context, frm.facts.ignored = about.skipped, about.cut, self.ignored
  local done, err = start(self, frm, message)
  if frm.over then return false end
  if not done then return refuse(self, frm, err) end
  local parsed, allowed = cli.parse(self.definition, done.stdout), {}
  for _, name in ipairs(self.input.allowed_tools) do allowed[name] = true end
  judge(self, frm, done, parsed)
  for name, value in next, parsed.usage do frm.usage[name] = value end
  for _, event in ipairs(parsed.events) do
    if frm.over then break end -- closed by whom the last one was told
    if event.kind == "tool_call" then check_call(frm, event, allowed) end
    frame.tell(frm, event)
  end
  return false
end

--- Nothing to do: the program ends with its task.
function work.close() end

-- Providers ---------------------------------------------------------------------------------------------------------

local methods = {}
local provider_mt = { __index = methods, __name = "koine.session.provider" }

--- Begins a session: what session.events returns.
function methods:open_session(given)
  local input = inputs.check(given)
  if input.model:find "^%-" then errors.argument("model", "model id that is no flag", input.model) end
  if input.blocked_phrases == nil then
    input.blocked_phrases = self.options.blocked_phrases or verdicts.PHRASES
  end
  local ignored = core.array {}
  for _, name in ipairs(IGNORED) do
    if given[name] ~= nil then ignored[#ignored + 1] = name end
  end
  return frame.new(input, setmetatable({ definition = self.definition, options = self.options, env = self.options.env,
    input = input, ignored = ignored }, work_mt))
end

--- Runs a session: the result.
function methods:run_session(given)
  local opened <close> = self:open_session(given)
  return opened:result()
end

local function argument(value, field)
  if type(value) ~= "string" or value:find("\0", 1, true) then check.refuse(field, "string without NUL", value) end
  return value
end

local function environment(value, field)
  if type(value) ~= "table" then check.refuse(field, "table of strings by name", value) end
  local kept = {}
  for name, member in next, value do
    if type(name) ~= "string" or name == "" or name:find "[=\0]" then
      errors.argument(field, "names without = and NUL", name)
    end
    kept[name] = argument(member, field .. "." .. name)
  end
  return kept
end

local function seconds(value, field)
  if type(value) == "number" and value > 0 and value < math.huge then return value end
  errors.argument(field, "seconds, more than 0", value)
end

local OPTIONS = { program = inputs.path, flags = inputs.list_of(argument), timeout = seconds, env = environment,
  blocked_phrases = inputs.phrases }

--- A provider that runs the program of a definition. Options, none required:
--   program          name or path of the program
--   flags            array of arguments in place of the definition's, those of the role too; what the definition
--                    requires has to be among them, else nothing is started
--   timeout          seconds that the program may take, 3600
--   env              {NAME = value}, its whole environment; else this program's
--   blocked_phrases  true, false, or an array of phrases that block the session when the last output has one; true
-- The table is copied. Raises an ArgumentError naming the bad option.
function cli.new(definition, given)
  if given == nil then given = {} end
  if type(given) ~= "table" then errors.argument("options", "table", given) end
  local kept = {}
  for name, value in next, given do
    if not OPTIONS[name] then check.unknown("option", name, OPTIONS) end
    kept[name] = OPTIONS[name](value, name)
  end
  return setmetatable({ name = definition.name, definition = definition, options = kept }, provider_mt)
end

return cli
