--- Turns of agents.

local kit = require "work.kit"
local koine = require "koine"

local path, same, tells, options, TEXT = kit.path, kit.same, kit.tells, kit.options, kit.TEXT

local turns = {}

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

return turns
