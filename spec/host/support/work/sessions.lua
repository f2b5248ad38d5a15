--- Turns of coding sessions, and of what git says of their changes.

local kit = require "work.kit"
local koine = require "koine"

local path, same, put, tells, options, TEXT = kit.path, kit.same, kit.put, kit.tells, kit.options, kit.TEXT

local turns = {}

-- Whether an error tells of a lack of memory, or may come of it.
local function excused(err)
  return tells(tostring(err)) or type(err) == "table" and (err.kind == "limit" or err.kind == "connect")
end

-- A session whose tool writes a file.
function turns.session()
  local run = koine.session.run
  local adapter = koine.anthropic(options "tool-once")
  local ran, told = 0, {}
  for i = 1, 8 do told[i] = false end
  local function on_event(event)
    if told[event.seq] then error "wrong answer: an event twice" end
    told[event.seq] = true
  end
  local function weather(name, input)
    same(name, "weather")
    same(input.city, "Paris")
    ran = ran + 1
    return "Sun."
  end
  put("issue", "It rains.")
  local inputs = { workdir = kit.folder, role = "implementor", model = "some-model", allowed_tools = { "weather" },
    prompt = "Weather?", context_files = { path "issue" }, require_git = false, on_event = on_event,
    executor = { run = weather, names = { "weather" },
      tools = function()
        return { { name = "weather", description = "Tells it.", parameters = { type = "object" } } }
      end } }
  local function go()
    local result = run(adapter, inputs)
    for i, event in ipairs(result.events) do same(event.seq, i) end
    if result.consumer_error then return nil, result.consumer_error end
    for i = 1, #result.events do same(told[i], true) end
    if result.outcome ~= "completed" then
      same(result.outcome, "error")
      if not excused(result.error) then error("wrong answer: " .. tostring(result.error)) end
      return nil, "not enough memory: " .. tostring(result.error)
    end
    same(#result.audit_log, 1)
    local said = result.events[3]
    same(said.kind, "tool_result")
    if said.is_error then return nil, "not enough memory: " .. said.content end
    same(ran, 1)
    same(said.content, "Sun.")
    same(#result.events, 4)
    same(result.events[4].content, TEXT)
    same(result.usage.model_calls, 2)
    return true
  end
  return go, function()
    if ran > 1 then error "wrong answer: the tool ran twice" end
    ran = 0
    for i = 1, 8 do told[i] = false end
    local ok, err = go()
    if not ok then return nil, err end
    return os.remove(path "issue")
  end
end

-- Finds the changes in the repository beside the directory, between two looks at it.
function turns.artifacts()
  local artifacts = koine.artifacts
  local repository = kit.folder .. "-repository"
  local new = repository .. "/new"
  local before
  local function go()
    local err, paths, heads
    before, err = artifacts.snapshot(repository)
    if not before then return nil, err end
    local file = assert(io.open(new, "w"))
    file:close()
    paths, heads = artifacts.compare(before)
    if not paths then return nil, heads end
    same(#paths, 1)
    same(paths[1], "new")
    same(heads.head_before, heads.head_after)
    return true
  end
  os.remove(new)
  return go, function()
    os.remove(new)
    if before then same(#assert(artifacts.compare(before)), 0) end
    same(go(), true)
    return os.remove(new)
  end
end

return turns
