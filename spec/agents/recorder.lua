-- Records a real agent for spec/lua/protocol/acp/recorded: what goes in both directions, a line of JSON each, {agent =
-- message} or {client = message}. Ids, paths and dates of the run become the same for every run. What the agent says is
-- shortened (shorten.lua), and the chunks of long turns are cut.

local core = require "koine.core"
local process = require "koine.system.process"
local program = require "spec.interop.support.program"
local scenario = require "spec.lua.protocol.acp.recorded.scenario"
local shorten = require "spec.agents.shorten"

local CHUNKS = 5 -- kept of a turn

-- Ids of a run and dates in them, and what stands for the n-th of them.
local UUID, MILLISECONDS = "%x{8}%-%x{4}%-%x{4}%-%x{4}%-%x{12}", "17%d{11}"
local FORMS = { [UUID] = "00000000-0000-4000-8000-%012d", [MILLISECONDS] = "17%011d" }
local DATE = "%d{4}%-%d{2}%-%d{2}T[%d:.]+Z"

-- A pattern of Lua for one that has numbers in braces.
local function pattern(text)
  return (text:gsub("(%%%a){(%d+)}", function(class, n) return class:rep(tonumber(n)) end))
end

-- A function that makes the ids and paths of this run the same for every run.
local function cleaner(world)
  local names = { [world.work] = "$CWD", [world.home] = "/home/user", [world.url] = "http://127.0.0.1:1" }
  local ids, count = {}, 0
  return function(text)
    for path, name in next, names do text = text:gsub(path:gsub("%p", "%%%0"), name) end
    text = text:gsub(pattern(DATE), "2026-01-01T00:00:00.000Z")
    for form, name in next, FORMS do
      text = text:gsub(pattern(form), function(id)
        if not ids[id] then
          count = count + 1
          ids[id] = name:format(count)
        end
        return ids[id]
      end)
    end
    return text
  end
end

--- Records the agent of these options of connect, in a world (spec/agents/init.lua), into the file `path`.
return function(world, options, path)
  local open, log, chunks = process.open, {}, 0
  local clean = cleaner(world)
  local function note(who, line)
    local message = core.decode(clean(line))
    if not message then return end
    local is_chunk = line:find('"agent_message_chunk"', 1, true) ~= nil
    if message.method == "session/prompt" then chunks = 0 elseif is_chunk then chunks = chunks + 1 end
    if not is_chunk or chunks <= CHUNKS then
      log[#log + 1] = core.encode { [who] = who == "agent" and shorten(message) or message }
    end
  end
  process.open = function(...) -- luacheck: ignore
    local live = assert(open(...))
    local methods = getmetatable(live).__index
    local line, write = methods.line, methods.write
    function live:line()
      local text, err = line(self)
      if text then note("agent", text) end
      return text, err
    end
    function live:write(bytes)
      for text in bytes:gmatch "[^\n]+" do note("client", text) end
      return write(self, bytes)
    end
    return live
  end
  local ok, err = pcall(scenario, options)
  process.open = open -- luacheck: ignore
  assert(ok, err)
  program.write(path, table.concat(log, "\n") .. "\n")
end
