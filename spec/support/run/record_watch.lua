--- Watches a whole run of the specs for records of observers that are not as docs/observing.md has them. Loaded by
-- busted before the first spec (.busted), after the watch for credentials. Every record that any spec's work makes is
-- judged before its observer gets it: version, ids, times, the fields of its type, its parent, one end for each start.
-- At a file's end all of its records are searched for all credentials in use. What is wrong fails the run, named by the
-- file.

local deep = dofile "spec/support/deep.lua"
local secrets = require("spec.support.run.secret_watch").secrets

local watch = { seen = 0, problems = {} }

local COMMON = "v type phase trace id parent time seconds error content attributes"
local USAGE = "usage cost"

-- The fields of each type, by phase.
local FIELDS = {
  ["chat start"] = "provider model stream max_tokens temperature top_p stop_sequences thinking server tools messages"
    .. " conversation",
  ["chat end"] = "response_model response_id request_id stop_reason raw_stop_reason first_delta attempts warnings"
    .. " tool_calls " .. USAGE,
  ["attempt start"] = "number url waited",
  ["attempt end"] = "status_code request_id bytes_sent bytes_received connection dns connect tls first_byte",
  ["embed start"] = "provider model inputs dimensions server",
  ["embed end"] = "dimensions attempts " .. USAGE,
  ["agent start"] = "name system tools",
  ["agent end"] = "status reason steps pending " .. USAGE,
  ["tool start"] = "name call_id mcp_server description",
  ["tool end"] = "is_error blocked reason exit_code bytes",
  ["mcp start"] = "server method target transport version request_id",
  ["mcp end"] = "error_code progress bytes is_error",
  ["turn start"] = "session mode messages blocks senders waited",
  ["session start"] = "role model workdir provider",
  ["session end"] = "outcome reason artifacts " .. USAGE,
  ["prompt start"] = "agent session",
  ["prompt end"] = "stop_reason permissions_asked permissions_denied",
  ["wait start"] = "what",
  ["wait end"] = "",
  ["retry point"] = "status_code class kind waited",
  ["delta point"] = "delta",
  ["cache_miss point"] = "path",
  ["queued point"] = "session",
  ["dropped point"] = "session messages reason",
  ["respawn point"] = "session",
}

local ERROR = { class = true, kind = true, code = true, status_code = true, message = true }

local function set(words)
  local made = {}
  for word in words:gmatch "%S+" do made[word] = true end
  return made
end

local COMMON_SET, ALLOWED, TYPES = set(COMMON), {}, { turn = true }
for name, words in pairs(FIELDS) do ALLOWED[name], TYPES[name:match "^%S+"] = set(words), true end

local begun, over = {}, setmetatable({}, { __mode = "k" }) -- ids of all starts; by observer: {id = times of its end}
local remote = {}                                            -- ids of spans of other programs
local texts, bytes = {}, 0                                   -- of the records of this file
local BYTES_MAX = 32 << 20                                   -- of them that are searched

local function wrong(record, words, ...)
  local list = watch.problems
  if #list < 20 then list[#list + 1] = ("%s %s: "):format(record.type, record.phase) .. words:format(...) end
end

local function is_id(text, digits) return type(text) == "string" and #text == digits and not text:find "[^%da-f]" end

local function check_common(record)
  if record.v ~= 1 then wrong(record, "version %s", record.v) end
  if not is_id(record.trace, 32) or not is_id(record.id, 16) then wrong(record, "no ids") end
  if math.type(record.time) ~= "integer" then wrong(record, "no time") end
  local seconds = record.seconds
  if record.phase == "end" then
    if math.type(seconds) ~= "float" or seconds < 0 then wrong(record, "%s seconds", seconds) end
  elseif seconds ~= nil or record.error ~= nil then
    wrong(record, "has what an end has")
  end
  for name in pairs(record.error or {}) do
    if not ERROR[name] then wrong(record, "an error's %s", name) end
  end
end

-- Types that a spec makes up have any fields; a turn's end has those of the dispatcher's record.
local function check_fields(record)
  local allowed = ALLOWED[record.type .. " " .. record.phase]
  if not allowed and TYPES[record.type] and not (record.type == "turn" and record.phase == "end") then
    wrong(record, "no phase of its type")
  end
  for name in pairs(record) do
    if allowed and not allowed[name] and not COMMON_SET[name] then wrong(record, "has %s", name) end
  end
end

local function check_pair(hook, record)
  local ends = over[hook] or {}
  over[hook] = ends
  if record.phase == "start" then
    if ends[record.id] then wrong(record, "begins twice") end
    ends[record.id], begun[record.id] = 0, record.type
  elseif record.phase == "end" then
    local before = ends[record.id]
    if before ~= 0 then wrong(record, before and "ends twice" or "did not begin") end
    ends[record.id] = 1
  end
  local parent = record.parent
  if parent ~= nil and not begun[parent] and not remote[parent] then wrong(record, "its parent is unknown") end
end

local function note_text(record)
  if bytes > BYTES_MAX then return end
  local text = deep.text(record)
  texts[#texts + 1], bytes = text, bytes + #text
end

local judged = setmetatable({}, { __mode = "k" }) -- one that had to wait for its observer comes a second time

-- Judges a record. Ids that a spec makes itself may be equal.
local function judge(hook, record)
  if judged[record] then return end
  judged[record] = true
  watch.seen = watch.seen + 1
  if type(record.type) ~= "string" or type(record.phase) ~= "string" then return wrong(record, "no type, no phase") end
  check_common(record)
  check_fields(record)
  if hook.ids == package.loaded["koine.core"].random_hex then check_pair(hook, record)
  else begun[record.id] = record.type end
  note_text(record)
end

-- Puts a function around the local function of this name that `f` uses.
local function wrap(f, name, make)
  for i = 1, 60 do
    local found, value = debug.getupvalue(f, i)
    if found == name then return debug.setupvalue(f, i, make(value)) end
  end
  error("record_watch: there is no " .. name)
end

local function load(name)
  local path = assert(package.searchpath(name, package.path))
  return assert(loadfile(path))(name, path)
end

package.preload["koine.data.observer.context"] = function(name)
  local context = load(name)
  wrap(context.sent, "read_traceparent", function(read)
    return function(text)
      local made = read(text)
      if made then remote[made.id] = true end
      return made
    end
  end)
  return context
end

package.preload["koine.data.observer"] = function(name)
  local observer = load(name)
  wrap(observer.new, "complete", function(complete)
    return function(settings)
      local hook = complete(settings)
      local run = hook.run
      function hook.run(record)
        judge(hook, record)
        return run(record)
      end
      return hook
    end
  end)
  return observer
end
package.loaded["spec.support.run.record_watch"] = watch

--- Searches what was noted of records for all credentials in use, and for starts without an end, and forgets it: an
-- array of what is wrong.
function watch.take()
  local problems, all = watch.problems, table.concat(texts, "\0")
  for secret in pairs(secrets) do
    if all:find(secret, 1, true) then problems[#problems + 1] = ("%q is in a record"):format(secret) end
  end
  for _, ends in pairs(over) do
    for id, times in pairs(ends) do
      if times == 0 then problems[#problems + 1] = begun[id] .. ": began, and has no end" end
    end
  end
  texts, bytes, watch.problems = {}, 0, {}
  return problems
end

local busted = require "busted"
busted.subscribe({ "file", "end" }, function(element, parent)
  collectgarbage()
  collectgarbage() -- which ends what was left
  local problems = watch.take()
  if #problems > 0 then
    busted.publish({ "error", "file" }, element, parent, "records are wrong:\n" .. table.concat(problems, "\n"), {})
  end
  return nil, true
end)

return watch
