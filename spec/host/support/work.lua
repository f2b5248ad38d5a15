--- The turns of memory_work.c. Each is a function that returns `go` (called while memory
-- fails: true, or nil and an error that tells of it) and `again` (called afterwards: true).

local koine = require "koine"

local base, folder -- the provider's address, a directory for files

local TEXT = "Hello, héllo!" -- what the provider says
local OLD, NEW = ("old\n"):rep(1000), ("new\n"):rep(1200)

local turns = {}

-- Kit ---------------------------------------------------------------------------------------------------------------

local function path(name) return folder .. "/" .. name end

local function same(got, expected)
  if got ~= expected then error(("wrong answer: %s expected, got %s"):format(expected, got), 2) end
end

local function put(name, bytes)
  local file <close> = assert(io.open(path(name), "wb"))
  assert(file:write(bytes))
end

local function get(name)
  local file <close> = assert(io.open(path(name), "rb"))
  return file:read "a"
end

-- Raises unless the file is what it was or what it was to be.
local function check_whole(name, old, new)
  local bytes = get(name)
  if bytes ~= old and bytes ~= new then error(("half a file: %d bytes"):format(#bytes), 2) end
end

-- Whether words tell of a lack of memory.
local function tells(words) return type(words) == "string" and words:find("not enough memory", 1, true) ~= nil end

-- Calls f until it does not run out of memory, but not for ever.
local function patient(f, ...)
  for left = 100, 0, -1 do
    local results = table.pack(pcall(f, ...))
    if results[1] then return table.unpack(results, 2, results.n) end
    if left == 0 or not tells(tostring(results[2])) then error(results[2], 0) end
  end
end

local function options(what)
  return { model = "some-model", key = "a-secret-key", base_url = base .. what, retry = false }
end

-- Koine -------------------------------------------------------------------------------------------------------------

-- Koine itself, which takes the array marks of a lua-cjson that has some.
function turns.koine()
  local marks = require("koine.core").array_marks
  package.preload.cjson = function() return { array_mt = {} } end
  local function go()
    package.loaded.koine, package.loaded.cjson = nil, nil
    same(type(require "koine"), "table")
    same(marks[require("cjson").array_mt], true)
    return true
  end
  return go, go
end

-- Every module, as a first use of its name loads it.
function turns.loading()
  local function go()
    local n = 0
    for _ in pairs(koine) do n = n + 1 end
    if n < 60 then error("wrong answer: names missing: " .. n) end
    return true
  end
  return go, go
end

-- Programs ----------------------------------------------------------------------------------------------------------

function turns.program()
  local process = koine.process
  local function go()
    local done, err = process.run({ "/bin/cat" }, { stdin = NEW, env = { PATH = "/bin" }, timeout = 60 })
    if not done then return nil, err end
    same(done.code, 0)
    same(done.stdout, NEW)
    return true
  end
  return go, go
end

function turns.no_program()
  local process = koine.process
  local function go()
    local done, err = process.run { "no-such-program" }
    same(done, nil)
    if err.code ~= "absent" then return nil, err end
    return true
  end
  return go, go
end

-- Files -------------------------------------------------------------------------------------------------------------

function turns.files()
  local files = koine.files
  put("file", OLD)
  local function go()
    local ok, err = files.write(path "file", NEW)
    if not ok then return nil, err end
    local bytes
    bytes, err = files.read(path "file")
    if not bytes then return nil, err end
    same(bytes, NEW)
    return true
  end
  return go, function()
    check_whole("file", OLD, NEW)
    return go() and os.remove(path "file")
  end
end

-- Executors ---------------------------------------------------------------------------------------------------------

-- A turn of one tool, which says `expected`. The directory holds a file with the bytes `before` (nil: OLD); they are
-- `after` then (nil: the same).
local function tool_turn(name, input, expected, before, after)
  local make = koine.executor
  before = before or OLD
  after = after or before
  local function go()
    local executor <close>, err = make { workdir = folder }
    if not executor then return nil, err end
    local said, info = executor.run(name, input)
    if said == nil then return nil, info end
    if info and info.is_error then return nil, said end
    same(said, expected)
    return true
  end
  put("file", before)
  return go, function()
    check_whole("file", before, after)
    put("file", before)
    local ok, err = go()
    if not ok then return nil, err end
    same(get "file", after)
    return os.remove(path "file")
  end
end

function turns.write_file()
  return tool_turn("write_file", { path = "file", content = NEW }, ("Wrote %d bytes to file."):format(#NEW), OLD, NEW)
end

function turns.edit_file()
  return tool_turn("edit_file", { path = "file", old_str = "here", new_str = "there" }, "Edited file at line 1001.",
    OLD .. "here", OLD .. "there")
end

function turns.read_file() return tool_turn("read_file", { path = "file" }, OLD) end

function turns.list_dir() return tool_turn("list_dir", {}, "file") end

function turns.glob() return tool_turn("glob", { pattern = "**/f*" }, "file") end

function turns.grep()
  return tool_turn("grep", { text = "here", glob = "f*" }, "file:1001:here", OLD .. "here")
end

function turns.bash()
  return tool_turn("bash", { command = "echo out; echo err >&2; exit 3" }, "out\nerr\n[exit code 3]")
end

-- Agents ------------------------------------------------------------------------------------------------------------

-- Which of an agent's four events were told: there from the start, so that noting one takes no memory.
local function none_told() return { false, false, false, false } end

local function all_told(told) return told[1] and told[2] and told[3] and told[4] end

-- An agent whose tool counts its calls, and `check(result, ran)` for the result of its run.
local function agent_kit()
  local seen = { ran = 0, told = none_told() }
  local weather = koine.tool { name = "weather", description = "Tells it.", example = { city = "Paris" },
    run = function(args)
      seen.ran = seen.ran + 1
      same(args.city, "Paris")
      return "Sun."
    end }
  local agent = koine.agent { adapter = koine.anthropic(options "tool-once"), tools = { weather },
    on_event = function(event)
      if seen.told[event.seq] then error "wrong answer: an event twice" end
      seen.told[event.seq] = true
    end }

  -- Raises unless a run's result is whole. Where memory was short within the tool, its answer tells so; where it was
  -- short behind it, the call may count as interrupted. True, or nil and what the answer told.
  local function check(result)
    same(result.status, "completed")
    same(result.text, TEXT)
    same(#result.messages, 4)
    same(#result.calls, 1)
    same(result.events, 4) -- reasoning, call, result, output
    same(result.messages[2].content[2].arguments.city, "Paris")
    local answer = result.messages[3].content[1]
    same(result.calls[1].is_error, answer.is_error)
    if answer.is_error then
      if not tells(answer.content) and not answer.content:find "^interrupted" then same(answer.content, "Sun.") end
      return nil, "not enough memory: " .. answer.content
    end
    same(answer.content, "Sun.")
    same(seen.ran, 1)
    return true
  end
  return agent, check, seen
end

function turns.agent()
  local agent, check, seen = agent_kit()
  local run
  local function go()
    run = agent:start "Weather?"
    local result, err = run:result()
    if not result then return nil, err end
    return check(result)
  end
  return go, function()
    if run then -- what memory broke off goes on
      check(assert(run:result()))
      same(all_told(seen.told), true)
      if seen.ran > 1 then error "wrong answer: the tool ran twice" end
    end
    seen.ran, seen.told = 0, none_told()
    return go()
  end
end

-- A run that is saved after each unit and goes on in a copy.
function turns.saved()
  local agent, check, seen = agent_kit()
  local files = koine.files
  local function load(name)
    local text, err = files.read(path(name))
    if not text then return nil, err end
    local run
    run, err = agent:load(text)
    if not run then return nil, err end
    return run
  end
  local function go()
    local run = agent:start "Weather?"
    while true do
      local ok, failed = files.write(path "run", run:dump())
      if not ok then return nil, failed end
      local loaded, err = load "run"
      if not loaded then return nil, err end
      run = loaded
      local made, problem = run:step()
      if problem then return nil, problem end
      if not made then return check(run:summary()) end
    end
  end
  return go, function()
    local run, err = load "run"
    seen.told = none_told()
    if run then
      local result = assert(run:result())
      same(result.status, "completed")
      same(#result.messages, 4)
    elseif err.code ~= "absent" then
      return nil, err
    end
    seen.ran, seen.told = 0, none_told()
    return go() and os.remove(path "run")
  end
end

-- Tasks -------------------------------------------------------------------------------------------------------------

-- What tasks can do, as functions to be called in a run.
local pieces = {
  function()
    local a, b = koine.gather(function()
      koine.sleep(0)
      return 1
    end, function()
      koine.sleep(0.0001)
      return 2
    end)
    same(a, 1)
    same(b, 2)
  end,
  function()
    local nothing, err = koine.timeout(0.0001, function() koine.sleep(60) end)
    same(nothing, nil)
    same(err.kind, "timeout")
    same(koine.timeout(60, function() return koine.sleep(0) end), true)
  end,
  function()
    local task <close> = koine.spawn(function() koine.sleep(60) end)
    koine.sleep(0)
    same(task:cancel(), true)
    local _, err = task:wait()
    same(err.kind, "cancelled")
  end,
  function()
    local mailbox, heard = {}, 0
    local function hear()
      while not mailbox.letter do koine.park(mailbox) end
      heard = heard + 1
    end
    koine.gather(hear, hear, hear, function()
      koine.sleep(0)
      mailbox.letter = true
      koine.wake(mailbox)
    end)
    same(heard, 3)
  end,
  function() same(koine.run(function(n) return n + 1 end, 1), 2) end,
}

local function load_tasks()
  return koine.run, koine.gather, koine.timeout, koine.spawn, koine.sleep, koine.park, koine.wake
end

function turns.tasks()
  load_tasks()
  local function go()
    return koine.run(function()
      local n = 0
      local task = koine.spawn(function()
        for _ = 1, 5 do
          koine.sleep(0)
          n = n + 1
        end
        return n
      end)
      for _, piece in ipairs(pieces) do piece() end
      same(task:wait(), 5)
      return true
    end)
  end
  return go, go
end

-- Tasks whose parent catches what they raise: the run goes on.
function turns.patient_tasks()
  load_tasks()
  local function go()
    return koine.run(function()
      for _, piece in ipairs(pieces) do patient(piece) end
      return true
    end)
  end
  return go, go
end

-- Two calls at once.
function turns.gathered()
  load_tasks()
  local claude, other = koine.anthropic(options "text"), koine.compatible(options "text")
  local function ask(adapter)
    return function() return assert(adapter:chat "Hi"):text() end
  end
  local function go()
    local a, b = koine.gather(ask(claude), ask(other))
    same(a, TEXT)
    same(b, TEXT)
    return true
  end
  return go, go
end

-- Adapters ----------------------------------------------------------------------------------------------------------

function turns.conversation()
  local adapter, talk = koine.anthropic(options "text"), nil
  local make = koine.conversation
  local function asked(one)
    local before = #one.history
    local r, err = one:ask "Hi"
    if not r then return nil, err end
    same(r:text(), TEXT)
    same(#one.history, before + 2)
    same(one.history[before + 2].content[1].text, TEXT)
    return true
  end
  local function go()
    talk = make(adapter)
    local ok, err = asked(talk)
    if not ok then return nil, err end
    return asked(make.load(adapter, talk:dump()))
  end
  return go, function()
    if talk then
      same(#talk.history % 2, 0)
      same(asked(talk), true)
    end
    return go()
  end
end

function turns.fallback()
  local adapter = koine.fallback { koine.anthropic(options "so-busy"), koine.compatible(options "text") }
  local function go()
    local r, err = adapter:chat "Hi"
    if not r then return nil, err end
    same(r:text(), TEXT)
    return true
  end
  return go, go
end

function turns.custom_adapter()
  local make = koine.custom_adapter
  local function go()
    local closed = 0
    local shout = make { name = "Shout", options = { model = "shout-1" }, open = function(_, messages, opts)
      local i, text = 0, messages[#messages].content:upper()
      local deltas = { { type = "text_start" }, { type = "text_delta", text = text }, { type = "text_end" } }
      return {
        next = function()
          i = i + 1
          return deltas[i]
        end,
        response = function() return { content = text, model = opts.model, stop_reason = "end_turn" } end,
        close = function() closed = closed + 1 end,
      }
    end }
    local r, err = shout:chat "hello"
    if not r then return nil, err end
    same(r:text(), "HELLO")
    same(closed, 1)
    local said = ""
    for delta in shout:stream "again" do said = said .. (delta.text or "") end
    same(said, "AGAIN")
    same(closed, 2)
    return true
  end
  return go, go
end

-- Data --------------------------------------------------------------------------------------------------------------

function turns.schema()
  local schema = koine.schema
  local function go()
    local trip = schema.expand { city = "string", ["days?"] = 1, tags = { "a" } }
    schema.check(trip)
    same(schema.validate(trip, { city = "Paris", days = 3, tags = { "x" } }), true)
    local fits, why = schema.validate(trip, { city = "Paris", days = 0.5, tags = {} }, "trip")
    same(fits, nil)
    same(why, "trip.days: integer expected, got 0.5")
    return true
  end
  return go, go
end

function turns.packing()
  local packing = koine.packing
  local function go()
    local function said(name, prompt)
      return { prompt = prompt, sender = { sender_id = name, sender_name = name, display_name = name,
        channel = "slack", channel_id = "C1", is_bot = false, timestamp = { slack = "1714204397.999600" },
        team = "red" } }
    end
    local blocks, spans = packing.pack { said("ann", "Hi"), said("bob", "Ho") }
    same(#blocks, 4)
    same(blocks[4].text, "Ho")
    same(spans[2][2], 4)
    if not blocks[3].text:find('"display_name":"bob"', 1, true) then error "wrong answer: no envelope" end
    return true
  end
  return go, go
end

-- The file keeps the requests of others.
function turns.rate_limiter()
  local make = koine.rate_limiter
  local before, log = os.time() - 10.0, {}
  for i = 1, 20 do log[i] = ("%.1f"):format(before) end
  put("limit", ('{"last_request_at":%.1f,"request_log":[%s]}'):format(before, table.concat(log, ",")))
  local function go()
    local limiter = make { rate_limit_path = path "limit", min_request_interval = 0.0001,
      rate_limit = { requests = 1000, period = 3600 } }
    return limiter:wait()
  end
  local function entered()
    local n = 0
    for _ in get "limit":match '"request_log":%[(.-)%]':gmatch "[^,]+" do n = n + 1 end
    return n
  end
  return go, function()
    local n = entered()
    if n ~= 20 and n ~= 21 then error("wrong answer: requests in the file: " .. n) end
    same(go(), true)
    same(entered(), n + 1)
    return os.remove(path "limit")
  end
end

--- The functions `go` and `again` of the turn of that name.
return function(name, address, directory)
  base, folder = address, directory
  return turns[name]()
end
