local core = require "koine.core"
local raised = require "spec.support.raised"

local function apart(f) return core.apart(f, coroutine.close) end

-- A to-be-closed value that calls f.
local function closing(f) return setmetatable({}, { __close = f }) end

describe("core.apart", function()
  it("calls a function with one value, in a coroutine that is used again", function()
    local seen = {}
    local run = apart(function(...) seen[#seen + 1] = { coroutine.running(), ... } end)
    assert.is_true(run("a", "b"))
    assert.is_true(run(nil))
    local own = seen[1][1]
    assert.are.same({ { own, "a" }, { own } }, seen)
    assert.are_not.equal(coroutine.running(), own)
  end)

  it("tells what the function raised, whatever that is, and goes on", function()
    local thrown, problem = nil, {}
    local run = apart(function() error(thrown, 0) end)
    assert.are.equal("raised", (run())) -- with nil, or with Lua 5.5's words for it
    thrown = problem
    local word, told = run()
    assert.are.equal("raised", word)
    assert.are.equal(problem, told)
    thrown = "words"
    assert.are.same({ "raised", "words" }, { run() })
  end)

  it("tells that the function yielded, which the program's coroutine does not", function()
    local run = apart(function(value) if value then coroutine.yield(value) end end)
    local co = coroutine.wrap(function() return run "out", run(false), run "out" end)
    local first, second, third = co()
    assert.are.same({ "yielded", true, "yielded" }, { first, second, third })
  end)

  it("closes what a function that did not come to its end had to close, while it is busy", function()
    local closed, run = {}, nil
    run = apart(function(how)
      local here <close> = closing(function() -- luacheck: ignore here
        closed[#closed + 1] = how .. " " .. run "again"
        error "lost"
      end)
      if how == "raise" then error("no", 0) end
      coroutine.yield()
    end)
    assert.are.same({ "raised", "no" }, { run "raise" })
    assert.are.same({ "yielded" }, { run "yield" })
    assert.are.same({ "raise busy", "yield busy" }, closed)
  end)

  it("closes as deeply as it is called", function()
    local levels = 0
    local function nest()
      levels = levels + 1
      local run = apart(nest)
      local here <close> = closing(run) -- luacheck: ignore here
      error "no"
    end
    assert.are.equal("raised", (apart(nest)()))
    assert.is_true(levels > 50)
  end)

  it("does not call a function that runs", function()
    local calls, inside, run, is_busy = 0, nil, nil, nil
    run, is_busy = apart(function()
      calls = calls + 1
      inside = { is_busy(), run() }
    end)
    assert.is_false(is_busy())
    assert.is_true(run())
    assert.are.same({ true, "busy" }, inside)
    assert.are.equal(1, calls)
    assert.is_false(is_busy())
    assert.is_true(run())
  end)

  it("takes a stack that overflows for what the function raised", function()
    local function deep(n) return 1 + deep(n + 1) end
    local run = apart(function(value) if value then deep(1) end end)
    assert.are.equal("raised", (run(true)))
    assert.is_true(run(false))
    local levels = 0
    local function nest() -- each level is a coroutine in a coroutine
      levels = levels + 1
      local word, problem = apart(nest)()
      if word ~= true then error(problem, 0) end
    end
    local word, problem = apart(nest)()
    assert.are.equal("raised", word)
    assert.is_truthy(tostring(problem):find "overflow")
    assert.is_true(levels > 50)
  end)

  it("keeps no value", function()
    local kept = setmetatable({}, { __mode = "v" })
    local run = apart(function(value) kept[#kept + 1] = value end)
    run {}
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(kept))
  end)

  it("refuses what is no function", function()
    assert.are.equal("f", raised(core.apart, "x", print).field)
    assert.are.equal("f", raised(core.apart, setmetatable({}, { __call = print }), print).field)
    assert.are.equal("close", raised(core.apart, print).field)
  end)
end)
