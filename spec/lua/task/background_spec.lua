-- Tasks that their run does not wait for.

local koine = require "koine"
local scheduler = require "koine.task.scheduler"
local shared_run = require "koine.task.shared_run"
local wait = require "koine.task.wait"

describe("tasks in the background", function()
  it("keep no run alive, and end with it", function()
    local closed, went_on = false, 0
    koine.run(function()
      scheduler.background(function()
        local mark <close> = setmetatable({}, { __close = function() closed = true end }) -- luacheck: ignore
        while true do
          koine.sleep(0.001)
          went_on = went_on + 1
        end
      end)
      while went_on < 2 do koine.sleep(0.001) end
    end)
    assert.is_true(closed)
  end)

  it("are the outermost run's, and go on after the run within", function()
    local token, ended = {}, false
    koine.run(function()
      koine.run(function()
        scheduler.background(function()
          wait.park(token)
          ended = true
          wait.wake(token)
        end)
        koine.sleep(0)
      end)
      wait.wake(token)
      while not ended do wait.park(token) end
    end)
    assert.is_true(ended)
  end)

  it("are none where no run goes on by itself", function()
    assert.is_nil(scheduler.background(function() end))
    local shared <close>, token, made = shared_run(), {}, nil
    shared:spawn(function()
      made = { scheduler.background(function() end) }
      shared:wake(token)
    end)
    koine.run(function() assert.is_true(shared:await(token, function() return made end)) end)
    assert.is_nil(made[1])
  end)

  it("hide no deadlock", function()
    for _, pause in ipairs { function() wait.park({}) end, function() koine.sleep(0.05) end } do
      local went_on = false
      local ok, err = pcall(koine.run, function()
        scheduler.background(function()
          pause()
          went_on = true
        end)
        local one, other
        one = koine.spawn(function() other:wait() end)
        other = koine.spawn(function() one:wait() end)
      end)
      assert.is_false(ok)
      assert.are.equal("run", err.field)
      assert.is_false(went_on)
    end
  end)

  it("leave others the time that these wait for", function()
    local ok, err = koine.run(function()
      scheduler.background(function() koine.sleep(0.05) end)
      local one, other
      one = koine.spawn(function() other:wait() end)
      other = koine.spawn(function() one:wait() end)
      local ok, err = koine.timeout(0.1, function() one:wait() end)
      one:cancel()
      return ok, err
    end)
    assert.is_nil(ok)
    assert.are.equal("timeout", err.kind)
  end)
end)
