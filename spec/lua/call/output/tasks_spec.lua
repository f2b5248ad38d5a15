-- Streams of answers with a shape under tasks: several readers, closing at any time, time limits around a repair.

local kit = require("spec.lua.call.output.kit").new()
local koine = require "koine"

local ADA, WRONG = kit.ADA, '{"name":"Ada"}'
local SLOW = { delay_ms = 5000 }

describe("a stream with a shape", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(function() assert(kit.server:reset()) end)

  local called

  local function output(more)
    called = 0
    local made = { schema = kit.PERSON, mode = "native", repair = 1, check = function()
      called = called + 1
      return true
    end }
    for name, value in pairs(more or {}) do made[name] = value end
    return { output = made }
  end

  local function open(answers, more, adapter)
    assert(kit.server:script(answers))
    return assert((adapter or kit.gpt { retry = false }):open("Who?", output(more)))
  end

  -- Runs the functions as tasks: what each returned, in order.
  local function at_once(...)
    local jobs, results = { ... }, {}
    koine.run(function()
      for i, job in ipairs(jobs) do
        jobs[i] = function() results[i] = table.pack(job()) end
      end
      koine.gather(table.unpack(jobs))
    end)
    return results
  end

  local function wait_for(requests)
    repeat koine.sleep(0.005) until #kit.requests() == requests
  end

  it("is repaired once, whoever reads it", function()
    for _, first in ipairs { "next", "response" } do
      for _, second in ipairs { "next", "response" } do
        assert(kit.server:reset())
        local stream <close> = open { { content = WRONG, chunk = 4, fault = { delay_ms = 20 } }, { content = ADA },
          { content = ADA } }
        local function reader(method)
          return function()
            if method == "response" then return stream:response() end
            for _ in stream.next, stream do end -- luacheck: ignore
            return stream:response()
          end
        end
        local results = at_once(reader(first), reader(second))
        assert.are.equal(36, results[1][1].output.age)
        assert.are.equal(results[1][1], results[2][1])
        assert.are.same({ 2, 1 }, { #kit.requests(), called })
        assert.are.equal(2, #results[1][1].attempts)
      end
    end
  end)

  it("asks a check that waits once, whoever reads it", function()
    local running
    local stream <close> = open({ { content = ADA }, { content = ADA } }, { check = function()
      called = called + 1
      running = true
      koine.sleep(0.02)
      return called > 1, "again"
    end })
    local results = at_once(function() return stream:response() end, function()
      repeat koine.sleep(0.002) until running
      return stream:response()
    end, function()
      repeat koine.sleep(0.002) until running
      while stream:next() do end -- luacheck: ignore
      return stream:response()
    end)
    for i = 1, 3 do assert.are.equal(results[1][1], results[i][1]) end
    assert.are.same({ 2, 2 }, { called, #kit.requests() })
  end)

  it("refuses a check that reads the stream itself", function()
    local stream, err
    stream = open({ { content = ADA } }, { check = function()
      local ok
      ok, err = pcall(stream.response, stream)
      return not ok
    end })
    assert.are.equal(36, stream:response().output.age)
    assert.are.same({ "ArgumentError", "stream" }, { err.class, err.field })
  end)

  it("goes on where the task that judged was cancelled", function()
    local began = 0
    local stream <close> = open({ { content = "So: " .. ADA } }, { mode = "prompt", check = function()
      began = began + 1
      if began == 1 then koine.sleep(60) end
      return true
    end })
    local result
    koine.run(function()
      local _, err = koine.timeout(0.05, function() return stream:response() end)
      assert.is_truthy(err)
      result = stream:response()
    end)
    assert.are.equal(36, result.output.age)
    assert.are.same({ 2, 1 }, { began, #kit.requests() })
    assert.are.same({ "output_extracted" }, kit.codes(result))
  end)

  it("goes on where the task that began the repair was cancelled", function()
    local stream <close> = open { { content = WRONG }, { content = ADA, chunk = 4, fault = { delay_ms = 200 } } }
    local result, err
    koine.run(function()
      local reader = koine.spawn(function() return stream:response() end)
      wait_for(2)
      reader:cancel()
      result, err = stream:response()
    end)
    assert.is_nil(err)
    assert.are.same({ 36, 1, 2 }, { result.output.age, called, #kit.requests() })
  end)

  it("ends where the task that opened it is cancelled, in a repair that another one reads, too", function()
    local stream, err, opened
    assert(kit.server:script { { content = WRONG }, { content = ADA, fault = SLOW } })
    koine.run(function()
      local owner = koine.spawn(function()
        stream = assert(kit.gpt { retry = false }:open("Who?", output()))
        opened = true
        koine.sleep(60)
      end)
      repeat koine.sleep(0.001) until opened
      koine.gather(function() err = select(2, stream:response()) end, function()
        wait_for(2)
        owner:cancel()
      end)
    end)
    assert.are.same({ "cancelled", 2 }, { err.kind, #kit.requests() })
  end)

  it("goes on where a host broke off a wait, in the first answer and in a repair", function()
    local errors = require "koine.data.errors"
    local wait = require "koine.task.wait"
    for _, first in ipairs { WRONG, ADA } do
      assert(kit.server:reset())
      local stream <close> = open { { content = first, chunk = 4, fault = { delay_ms = 30 } },
        { content = ADA, fault = { delay_ms = 30 } } }
      local broken = 0
      wait.set_host { wake = function() end, park = function(token, seconds)
        broken = broken + 1
        if broken % 2 == 1 then return nil, errors.new { kind = "cancelled", message = "broken off" } end
        return wait.block(token, seconds)
      end }
      local r, err
      repeat r, err = stream:response() until r or err.message ~= "broken off"
      wait.set_host(nil)
      assert.is_truthy(r, tostring(err))
      assert.are.same({ 36, first == ADA and 1 or 2 }, { r.output.age, #kit.requests() })
      assert.is_true(broken > 1)
    end
  end)

  it("ends for all who wait when it is closed, in the first answer and in a repair", function()
    local slow = { content = ADA, fault = SLOW }
    for _, answers in ipairs { { slow }, { { content = WRONG }, slow } } do
      assert(kit.server:reset())
      local stream = open(answers)
      local results = at_once(function() return stream:response() end, function()
        while true do
          local delta, err = stream:next()
          if not delta then return nil, err end
        end
      end, function()
        wait_for(#answers)
        stream:close()
      end)
      assert.are.same({ "cancelled", "cancelled" }, { results[1][2].kind, results[2][2].kind })
      assert.are.same({ #answers, 0 }, { #kit.requests(), called })
      assert.are.equal("cancelled", select(2, stream:next()).kind)
    end
  end)

  it("keeps what it has when it is closed in the middle", function()
    local stream = open { { content = ADA, chunk = 4 } }
    local value
    repeat
      local delta = assert(stream:next())
      if delta.type == "output_delta" then value = delta.value end
    until value and value.name == "Ada"
    stream:close()
    assert.are.equal(value, stream:output())
    assert.are.equal("cancelled", select(2, stream:response()).kind)
    assert.are.same({ name = "Ada" }, stream:output())
  end)

  it("is left by a time limit around a repair, which ends it", function()
    local stream
    assert(kit.server:script { { content = WRONG }, { content = ADA, fault = SLOW } })
    koine.run(function()
      local _, err = koine.timeout(0.5, function()
        local opened <close> = assert(kit.gpt { retry = false }:open("Who?", output()))
        stream = opened
        return opened:response()
      end)
      assert.are.equal("timeout", err.kind)
    end)
    assert.are.same({ 2, 0 }, { #kit.requests(), called })
    assert.are.equal("cancelled", select(2, stream:response()).kind)
  end)
end)
