-- Processes that are killed in the middle of a run, and those that take it up.

local core = require "koine.core"
local koine = require "koine"

-- Runs an agent from a state file that is written after every step and at every checkpoint, until it is done or kills
-- itself: after step N, in the tool of the Nth call, or when it hands out event N. Whatever runs is noted in a file.
local PROGRAM = [[
local koine = require "koine"
local directory, url, where, n, parallel = arg[1], arg[2], arg[3], tonumber(arg[4]), arg[5] == "parallel"

local function note(file, line)
  local f = assert(io.open(directory .. "/" .. file, "a"))
  f:write(line, "\n")
  f:close()
end

local function save(run)
  local f = assert(io.open(directory .. "/state.new", "w"))
  f:write(run:dump())
  f:close()
  assert(os.rename(directory .. "/state.new", directory .. "/state"))
end

local function die(place, count)
  if place == where and count == n then
    os.execute "kill -9 $PPID"
    while true do end -- not reached
  end
end

local ran, told, steps = 0, 0, 0
local work = koine.tool { name = "work", description = "Works.", example = { n = 1 }, run = function(args, ctx)
  note("ran", ctx.call.id)
  ran = ran + 1
  die("tool", ran)
  return "done " .. args.n
end }

local agent = koine.agent {
  adapter = koine.anthropic { model = "claude-sonnet-4-5", base_url = url, key = "k" },
  tools = { work }, parallel = parallel, checkpoint = save,
  on_event = function(event, run)
    note("told", event.seq .. " " .. event.kind)
    save(run)
    told = told + 1
    die("event", told)
  end,
}

local run
local file = io.open(directory .. "/state")
if file then
  run = assert(koine.agent.load(agent, file:read "a"))
  file:close()
else
  run = agent:start "Go"
  save(run)
end
die("step", 0)
while true do
  local made, err = run:step()
  if err then error(err, 0) end
  if not made then break end
  save(run)
  steps = steps + 1
  die("step", steps)
end
save(run)
]]

describe("a process that is killed", function()
  local server, directory, program

  setup(function()
    server = assert(koine.testing.start())
    program = os.tmpname()
    directory = program .. ".d"
    local file = assert(io.open(program, "w"))
    file:write(PROGRAM)
    file:close()
  end)
  teardown(function()
    server:stop()
    os.remove(program)
    assert(os.execute("rm -r " .. directory))
  end)

  -- Nothing has run, and the model has its three answers before it.
  local function begin()
    assert(os.execute("rm -rf " .. directory .. "; mkdir " .. directory))
    assert(server:reset())
    assert(server:script {
      { content = { { type = "text", text = "To work." }, { type = "tool_use", id = "toolu_1", name = "work",
        arguments = { n = 1 } }, { type = "tool_use", id = "toolu_2", name = "work", arguments = { n = 2 } } } },
      { content = { { type = "tool_use", id = "toolu_3", name = "work", arguments = { n = 3 } } } },
      { content = "All done." },
    })
  end

  local function lines_of(name)
    local list = {}
    local file = io.open(directory .. "/" .. name)
    if file then
      for line in file:lines() do list[#list + 1] = line end
      file:close()
    end
    return list
  end

  -- Runs the program; whether it came to its end, else the signal that ended it.
  local function process(where, n, parallel)
    local command = ("%s %s %s %s %s %d %s"):format(os.getenv "KOINE_LUA" or "lua5.4", program, directory, server.url,
      where, n, parallel and "parallel" or "")
    local ok, how, code = os.execute("exec " .. command)
    if ok then return true end
    assert.is_true(how == "signal" and code == 9 or code == 137, ("%s %s"):format(how, code))
    return false
  end

  local function state_of()
    local file <close> = assert(io.open(directory .. "/state"))
    local value = assert(core.decode(file:read "a"))
    return value.state
  end

  -- These hold however the run was killed: every tool ran once, every event was handed out once, all requests were
  -- legal, the run is complete.
  local function assert_whole()
    local ran = lines_of "ran"
    table.sort(ran)
    assert.are.same({ "toolu_1", "toolu_2", "toolu_3" }, ran)
    local told = lines_of "told"
    for i, line in ipairs(told) do assert.are.equal(i, tonumber(line:match "^%d+")) end
    assert.are.equal(8, #told)
    local requests = assert(server:requests())
    for _, request in ipairs(requests) do assert.are.same({}, request.problems) end
    assert.are.equal(3, #requests)
    local state = state_of()
    assert.are.same({ "completed", "All done." }, { state.status, state.text })
    return state.messages
  end

  local untouched -- the history of a run that was not killed, as text

  before_each(function()
    begin()
    if untouched then return end
    assert.is_true(process("never", 0))
    untouched = core.encode(assert_whole())
    begin()
  end)

  for _, parallel in ipairs { false, true } do
    local name = parallel and ", tools at once" or ""

    it("after any step goes on where it was; each tool ran once" .. name, function()
      local units = parallel and 5 or 6
      for k = 0, units do
        begin()
        assert.is_false(process("step", k, parallel))
        assert.is_true(process("never", 0, parallel))
        assert.are.equal(untouched, core.encode(assert_whole()))
      end
    end)

    it("at every step goes on all the same" .. name, function()
      assert.is_false(process("step", 0, parallel))
      local deaths = 0
      while deaths < 20 and not process("step", 1, parallel) do deaths = deaths + 1 end
      assert.are.equal(parallel and 5 or 6, deaths)
      assert.are.equal(untouched, core.encode(assert_whole()))
    end)

    it("in a tool never runs it again, and tells the model so" .. name, function()
      assert.is_false(process("tool", 2, parallel))
      assert.is_true(process("never", 0, parallel))
      local messages = assert_whole()
      local results = messages[3].content
      assert.are.equal("done 1", results[1].content)
      assert.is_truthy(results[2].content:find "^interrupted: ")
      assert.is_true(results[2].is_error)
      assert.are.equal("done 3", messages[5].content[1].content)
    end)
  end

  it("while it hands out events hands out each of them once", function()
    assert.is_false(process("event", 2))
    assert.is_false(process("event", 3))
    assert.is_true(process("never", 0))
    assert.are.equal(untouched, core.encode(assert_whole()))
  end)
end)
