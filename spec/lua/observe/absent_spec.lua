-- What observers cost where there is none: no memory. The collector stands still while Lua counts, after each of its
-- instructions, how much memory there is: what has grown belongs to the line before.

local agent_kit = require "spec.lua.agent.kit"
local koine = require "koine"
local observer = require "koine.data.observer"

-- Whether a line of Koine's source is about observers, by "@file:line".
local function about_observers()
  local known = {}
  return function(source, line)
    local lines = known[source]
    if not lines then
      lines = {}
      for text in io.lines(source:sub(2)) do lines[#lines + 1] = text:gsub("%-%-.*", "") end
      known[source] = lines
    end
    local text = lines[line] or ""
    return source:find("observe", 1, true) or text:find "%f[%w]span" or text:find "_span%f[%W]" or text:find "observ"
  end
end

local is_about = about_observers()

-- Calls f; returns {[place] = bytes} of the lines about observers that took memory, and how many such lines ran.
local function allocated(f)
  local grown, ran, seen, last, place = {}, 0, {}, 0, nil
  local count, info = collectgarbage, debug.getinfo
  local function on_instruction()
    local now = count "count"
    if place and now > last then grown[place] = (grown[place] or 0) + (now - last) * 1024 end
    local at = info(2, "Sl")
    place = nil
    if at.source:find "^@.*lua/koine/" and is_about(at.source, at.currentline) then
      place = at.source .. ":" .. at.currentline
      if not seen[place] then ran, seen[place] = ran + 1, true end
    end
    last = count "count"
  end
  collectgarbage()
  collectgarbage "stop"
  debug.sethook(on_instruction, "", 1)
  local ok, err = pcall(f)
  debug.sethook()
  collectgarbage "restart"
  assert(ok, err)
  return grown, ran
end

describe("where there is no observer", function()
  local server, claude, openai

  setup(function()
    server = assert(koine.testing.start())
    claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "k", retry = { max = 1 } }
    openai = koine.openai { model = "gpt-4.1", base_url = server.url .. "/v1", key = "k" }
  end)
  teardown(function() server:stop() end)

  local function script(turns)
    assert(server:reset())
    assert(server:script(turns))
  end

  local TURNS = {
    ["a chat"] = function()
      script { { content = "Hello." } }
      return function() assert(claude:chat "Hi.") end
    end,
    ["a stream that is made again"] = function()
      script { { error = { status = 529, headers = { ["retry-after-ms"] = "1" } } }, { content = "Hello." } }
      return function()
        for _ in claude:stream "Hi." do end -- luacheck: ignore 542
      end
    end,
    ["a stream that is left"] = function()
      script { { content = "Hello." } }
      return function()
        for _ in claude:stream "Hi." do break end -- luacheck: ignore 512
      end
    end,
    ["a chat with a parent"] = function()
      script { { content = "Hello." } }
      local parent = observer.sent("00-" .. ("1"):rep(32) .. "-" .. ("2"):rep(16) .. "-01")
      return function() assert(claude:chat("Hi.", { parent = parent })) end
    end,
    ["an error"] = function()
      script { { error = { status = 400 } } }
      return function() assert(not claude:chat "Hi.") end
    end,
    ["an embedding"] = function()
      script { { embeddings = true } }
      return function() assert(openai:embed("one", { model = "text-embedding-3-small" })) end
    end,
    ["an agent's run"] = function()
      script { { content = { { type = "tool_use", name = "add", arguments = { a = 1, b = 2 } } } }, { content = "3" } }
      local agent = koine.agent { adapter = claude, tools = { agent_kit.add(function() return "3" end) } }
      return function() assert(agent:run "Go.") end
    end,
  }

  for name, prepare in pairs(TURNS) do
    it(name .. " takes no memory for it", function()
      prepare()() -- what is loaded on first use
      local grown, ran = allocated(prepare())
      assert.are.same({}, grown)
      assert.is_true(ran >= 5, "the lines about observers were not seen")
    end)
  end

  it("a count of memory shows what an observer takes", function()
    script { { content = "Hello." }, { content = "Hello." } }
    local seen = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "k",
      observer = function() end }
    assert(seen:chat "Hi.")
    assert.is_truthy(next((allocated(function() assert(seen:chat "Hi.") end))))
  end)
end)
