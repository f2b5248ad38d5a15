-- Stores in plain Lua, in koine.run and in other event loops: what waits does not hold up the others.

local core = require "koine.core"
local folder = require "spec.support.folder"
local koine = require "koine"
local loops = require "spec.lua.task.hosts.loops"

local runs = { ["koine.run"] = function(...)
  local functions = { ... }
  koine.run(function() koine.gather(table.unpack(functions)) end)
end }
for name, run in pairs(loops) do runs[name] = run end

-- Makes two handles of one store of each engine: in a folder.
local engines = {
  memory = function()
    local first = koine.store.memory {}
    return first, koine.store.memory { same_as = first }
  end,
  file = function(dir)
    return assert(koine.store.file { dir = dir .. "/store" }), assert(koine.store.file { dir = dir .. "/store" })
  end,
}

describe("a store", function()
  local dir
  before_each(function() dir = folder.in_memory() end)
  after_each(function() folder.remove(dir) end)

  for loop, run in pairs(runs) do
    for engine, open in pairs(engines) do
      it(("of %s in %s wakes who watches, who then uses it"):format(engine, loop), function()
        local host, one, two = koine.hosts[loop], open(dir)
        local heard, seen = {}, {}
        if host then host.install() end
        local ok, err = pcall(run, function()
          heard[1] = one:watch("k", 5)
          seen[1] = one:get "k1"
        end, function()
          heard[2] = two:watch("k", 5)
          seen[2] = assert(two:put("l", "from within"))
        end, function()
          koine.sleep(0.02)
          assert(two:put("k1", "new"))
        end)
        if host then host.uninstall() end
        assert(ok, err)
        assert.are.same({ true, true }, heard)
        assert.are.equal("new", seen[1])
        assert.are.equal("from within", (one:get "l"))
      end)
    end

    it("of file in " .. loop .. " lets others go on while it waits for the lock", function()
      local host, store = koine.hosts[loop], engines.file(dir)
      assert(store:put("k", "v"))
      local lock, order = assert(core.file_lock(dir .. "/store/journal")), {}
      if host then host.install() end
      local ok, err = pcall(run, function()
        local value = assert(store:get "k")
        order[#order + 1] = value
      end, function()
        koine.sleep(0.02)
        order[#order + 1] = "the other"
        lock:close()
      end)
      if host then host.uninstall() end
      assert(ok, err)
      assert.are.same({ "the other", "v" }, order)
    end)
  end

  it("of file in plain Lua waits until its time is over", function()
    local store = engines.file(dir)
    assert.is_false(store:watch("k", 0.02))
  end)
end)
