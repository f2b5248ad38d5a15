-- Processes that share a store in files and are killed, or sleep past their lease, in the middle of a kept run, and
-- those that take it up. KOINE_ENGINE_SEEDS (make engines): at every place of every step, else at a few.

local core = require "koine.core"
local koine = require "koine"
local folder = require "spec.support.folder"

local EVERYWHERE = os.getenv "KOINE_ENGINE_SEEDS"
local STEPS = EVERYWHERE and 20 or 7

-- A unit's places, in order: before and after each save of a step, and inside its tool.
local PLACES = { "model before", "model after", "mark before", "mark after", "tool", "result before", "result after" }

-- Where the tool has begun, or may have: its call is answered as interrupted.
local STARTED = { ["mark after"] = true, tool = true, ["result before"] = true }

-- Takes up the run, or begins it, and goes on to its end, or to a place of the Nth step: there it kills or stops
-- itself. Prints the end. Tools that run are noted in a file.
local PROGRAM = [[
local koine = require "koine"
local directory, url, signal, place, n = arg[1], arg[2], arg[3], arg[4], tonumber(arg[5])

io.stdout:setvbuf "line"

local stage, step
local function reach(where)
  if where ~= place or step ~= n then return end
  print "here"
  place = nil
  os.execute("kill -" .. signal .. " $PPID")
end

local files = assert(koine.store.file { dir = directory .. "/store" })
local store = setmetatable({}, { __index = function(_, name)
  return function(_, ...) return files[name](files, ...) end
end })
function store.put(_, ...)
  local version, current = files:put(...)
  if stage then reach(stage .. " after") end
  return version, current
end

local work = koine.tool { name = "work", description = "Works.", example = { n = 1 }, run = function(args, ctx)
  local f = assert(io.open(directory .. "/ran", "a"))
  f:write(ctx.call.id, "\n")
  f:close()
  reach "tool"
  return "done " .. args.n
end }

local agent = koine.agent {
  adapter = koine.anthropic { model = "m", base_url = url, key = "k" }, tools = { work },
  checkpoint = function(run)
    step = run.state.steps
    local call = run.state.calls and run.state.calls[1]
    stage = not call and "told" or call.content and "result" or call.started and "mark" or "model"
    reach(stage .. " before")
  end,
}

local keeper <close> = koine.agent.keeper { store = store, key = "run", ttl = 0.1 }
local run, left
repeat
  run, left = keeper:take(agent)
  if run == nil and left == nil then run, left = keeper:start(agent, "Go") end
  if run == nil then error(left) end
  if not run then koine.sleep(math.min(left, 0.02)) end
until run
local result, err = run:result()
print(result and result.text or ("%s %s"):format(err.kind, err.code))
]]

describe("a process that keeps its run in a store", function()
  local server, directory

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() directory = folder.in_memory() end)
  after_each(function() folder.remove(directory) end)

  -- The model has its answers before it; those of the steps in `twice` it is asked for twice.
  local function begin(twice)
    local script = {}
    for i = 1, STEPS do
      for _ = 1, twice[i] and 2 or 1 do
        script[#script + 1] = { content = { { type = "tool_use", id = "toolu_" .. i, name = "work",
          arguments = { n = i } } } }
      end
    end
    script[#script + 1] = { content = "All done." }
    assert(server:reset())
    assert(server:script(script))
    assert(io.open(directory .. "/ran", "w")):close()
    local file <close> = assert(io.open(directory .. "/program.lua", "w"))
    file:write(PROGRAM)
  end

  -- Starts the program: a pipe from it, and its process id.
  local function start(signal, place, n)
    local pipe = assert(io.popen(("echo $$; exec %s %s/program.lua %s %s %s '%s' %d"):format(
      os.getenv "KOINE_LUA" or "lua5.4", directory, directory, server.url, signal, place, n)))
    return pipe, assert(pipe:read "l")
  end

  -- Runs the program to its end: what it printed.
  local function process(signal, place, n)
    local pipe <close> = start(signal, place, n)
    return pipe:read "a"
  end

  -- What holds in any case: the run is complete, no tool ran twice, the call of each step is answered: as interrupted
  -- where `started` says so. Returns how many tools ran.
  local function assert_whole(started)
    local ran, count = {}, 0
    for id in io.lines(directory .. "/ran") do
      assert.is_nil(ran[id], id .. " ran twice")
      ran[id], count = true, count + 1
    end
    for _, request in ipairs(assert(server:requests())) do assert.are.same({}, request.problems) end
    local store <close> = assert(koine.store.file { dir = directory .. "/store" })
    local state = assert(core.decode((assert(store:get "run")))).state
    assert.are.same({ "completed", "All done." }, { state.status, state.text })
    for i = 1, STEPS do
      local answer = state.messages[2 * i + 1].content[1]
      if started[i] then
        assert.is_truthy(answer.content:find "^interrupted: ", answer.content)
      else
        assert.are.equal("done " .. i, answer.content)
        assert.is_true(ran["toolu_" .. i])
      end
    end
    return count
  end

  -- Kills a process in every step, at the place that place_of(step) names; the last one survives.
  local function kill_in_every_step(place_of)
    local twice, started, ran = {}, {}, STEPS
    for i = 1, STEPS do
      local place = place_of(i)
      twice[i], started[i] = place == "model before", STARTED[place]
      if place == "mark after" then ran = ran - 1 end
    end
    begin(twice)
    for i = 1, STEPS do assert.are.equal("here\n", process("KILL", place_of(i), i)) end
    assert.are.equal("All done.\n", process("KILL", "nowhere", 0))
    assert.are.equal(ran, assert_whole(started))
  end

  if EVERYWHERE then
    for _, place in ipairs(PLACES) do
      it("is killed in every step: " .. place, function() kill_in_every_step(function() return place end) end)
    end
  else
    it("is killed in every step, each time elsewhere", function()
      kill_in_every_step(function(i) return PLACES[i] end)
    end)
  end

  for _, place in ipairs(EVERYWHERE and PLACES or { "mark before", "tool" }) do
    it("sleeps past its lease and begins nothing afterwards: " .. place, function()
      begin { place == "model before" }
      local sleeper <close>, pid = start("STOP", place, 1)
      assert.are.equal("here", sleeper:read "l")
      assert.are.equal("All done.\n", process("KILL", "nowhere", 0))
      assert(os.execute("kill -CONT " .. pid))
      assert.are.equal("cancelled lease_lost\n", sleeper:read "a")
      assert.are.equal(place == "mark after" and STEPS - 1 or STEPS, assert_whole { STARTED[place] })
    end)
  end
end)
