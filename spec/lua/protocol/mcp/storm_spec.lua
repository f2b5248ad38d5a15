-- Many calls on many servers, some of which are killed meanwhile: every call ends, and nothing is left. make chaos has
-- more of it (spec/chaos/servers.lua).

local dice = require "spec.chaos.dice"
local koine = require "koine"
local storm = require "spec.chaos.storm"

describe("servers that are killed", function()
  local folder

  before_each(function() folder = storm.begin() end)
  after_each(function() storm.finish(folder) end)

  it("let every call end, with its answer or in an error, and leave nothing", function()
    local function play(servers, calls, kills)
      local die, ended, counts = dice.new(7), storm.watch(folder), nil
      koine.run(function()
        local clients = storm.connect(folder, servers)
        counts = storm.rage(folder, clients, calls, kills, function(n) return die:between(1, n) end)
        storm.close(clients)
      end)
      assert.is_true(ended())
      return counts
    end
    play(1, 1, 0) -- the engine has made the descriptors that it keeps
    local before = storm.descriptors()
    local counts = play(5, 150, 5)
    assert.same({}, counts.wrong)
    assert.equal(150, counts.answered + counts.failed)
    assert.is_true(counts.killed >= 3)
    assert.is_true(counts.failed <= storm.AT_ONCE * counts.killed)
    assert.equal(before, storm.descriptors())
    assert.matches("(0 in flight)", storm.in_flight(), 1, true)
  end)

  -- Agrees on an era, reads one call, then nothing more, and says so by its progress.
  local DEAF = [[
    read -r initialize
    echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{}}}'
    read -r initialized; read -r call; exec 0<&-
    echo '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"2","progress":1}}'
    exec sleep 1000
  ]]

  it("fail what is pending as the call that finds them deaf", function()
    koine.run(function()
      local client <close> = assert(koine.mcp.connect { name = "deaf", command = "sh", args = { "-c", DEAF },
        era = "legacy", grace = 0 })
      local second
      local _, err = client:call("first", {}, { on_progress = function()
        second = koine.spawn(function() return select(2, client:call "second") end)
      end })
      assert.same({ "connect", "connect" }, { err.kind, second:wait().kind })
    end)
  end)

  it("end, with all that they started, when this process is killed", function()
    local ended = storm.watch(folder)
    assert.is_true(storm.kill_host(folder, 3))
    assert.is_true(ended())
  end)
end)
