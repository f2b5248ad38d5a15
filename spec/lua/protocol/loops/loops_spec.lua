-- One script with MCP servers, and one with an agent of ACP, unchanged in every loop: each prints the same, and leaves
-- neither a program nor a descriptor. spec/host/loops.c plays them in a C program.

local embed = require "spec.lua.whole.embed"
local files = require "spec.support.files"
local folders = require "spec.support.folder"
local koine = require "koine"

local LUA = arg and arg[-1] or "lua5.4"
local HERE = "spec/lua/protocol/loops/"
local LOOPS = { "plain", "run", "cqueues", "luv", "poll" }
local PASSED = { "LUA_PATH", "LUA_CPATH", "LD_PRELOAD", "ASAN_OPTIONS" }

-- What a script prints, wherever it runs.
local function transcript(script) return assert(files.read(HERE .. script .. ".txt")) end

describe("one script", function()
  local folder, services, provider, far, alive, holder

  setup(function()
    folder = folders.new()
    assert(os.execute(("mkfifo '%s/alive'"):format(folder)))
    -- Ends when the last program has closed the fifo, and the holder.
    alive = assert(io.popen(("timeout 60 cat '%s/alive' 2>&1"):format(folder)))
    holder = assert(io.open(folder .. "/alive", "w"))
    local argv, env = { LUA, HERE .. "services.lua", folder, "embed" }, {}
    for _, loop in ipairs(LOOPS) do
      for time = 1, 2 do argv[#argv + 1] = loop .. time end
    end
    for _, name in ipairs(PASSED) do env[name] = os.getenv(name) end
    services = assert(koine.process.open(argv, { env = env, grace = 0.1 }))
    provider, far = assert(services:line()):match "(%d+) (%d+)"
  end)

  teardown(function()
    services:close()
    folders.remove(folder)
  end)

  -- The output of a script in a program, of which the command is the beginning.
  local function output(command, script, name)
    local urls = ("http://127.0.0.1:%s http://127.0.0.1:%s/mcp"):format(provider, far)
    local pipe = assert(io.popen(("exec timeout 60 %s %s%s.lua %s '%s' '%s' %s 2>&1")
      :format(command, HERE, script, name, LUA, folder, urls)))
    local text = pipe:read "a"
    assert.is_true(pipe:close(), text)
    return text
  end

  for _, script in ipairs { "mcp", "acp" } do
    for _, loop in ipairs(LOOPS) do
      it(script .. " says the same in " .. loop .. ", and leaves nothing", function()
        local text = output(("'%s' %srun_in.lua %s"):format(LUA, HERE, loop), script, loop)
        assert.equal(transcript(script):rep(2), text)
      end)
    end

    it(script .. " says the same in a C program with a loop of its own", function()
      assert.equal(transcript(script), output(("'%s'"):format(embed()), script, "embed"))
    end)
  end

  it("leaves none of the programs that it started", function()
    holder:close()
    assert.equal("", alive:read "a")
    assert.is_true(alive:close())
  end)
end)
