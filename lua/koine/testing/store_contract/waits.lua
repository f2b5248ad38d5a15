--- Watching, cancelling, closing; what wrong arguments are told; what an engine says of itself.

local errors = require "koine.data.errors"
local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local SOON = 2        -- seconds: a hint is not later
local PATIENCE = 0.05 -- seconds
local LONG = 10       -- seconds: of a watch that cancel or close ends

local DURABLE = { memory = true, process = true, machine = true, replicated = true }

-- Every method with arguments that are right.
local function calls(kit)
  local key, rate = kit:name "k", { capacity = 1, per = 1 }
  return { get = { key }, put = { key, "v" }, delete = { key }, list = { key }, lease = { key, "o", kit.unit },
    release = { key, "o" }, take = { key, 1, rate }, push = { key, "i" }, claim = { "o", kit.unit, { queues = key } },
    ack = { key, "o", 1, 1 }, unclaim = { key, "o", 1 }, watch = { key, 0 }, describe = {} }
end

-- method, arguments, the field that the error names
local function wrong(key)
  local rate = { capacity = 1, per = 1 }
  return { { "get", { nil }, "key" }, { "get", { "" }, "key" }, { "get", { "a\0b" }, "key" },
    { "get", { ("k"):rep(513) }, "key" }, { "put", { key, 5 }, "value" }, { "put", { key }, "value" },
    { "put", { key, "v", { ttl = 0 } }, "ttl" }, { "put", { key, "v", { ttl = -1 } }, "ttl" },
    { "put", { key, "v", { ttl = 0 / 0 } }, "ttl" }, { "put", { key, "v", { if_version = 1 } }, "if_version" },
    { "put", { key, "v", { ifversion = "1" } }, "ifversion" }, { "put", { key, "v", { fence = 1 } }, "fence" },
    { "put", { key, "v", { fence = { key } } }, "fence[2]" }, { "put", { key, "v", { fence = { 1, 1 } } }, "fence[1]" },
    { "delete", { key, { ttl = 1 } }, "ttl" }, { "list", { nil }, "prefix" },
    { "list", { key, { limit = 0 } }, "limit" },
    { "lease", { key, "", 1 }, "owner" }, { "lease", { key, "o" }, "ttl" }, { "lease", { key, "o", math.huge }, "ttl" },
    { "release", { key }, "owner" }, { "take", { key, "1", rate }, "n" },
    { "take", { key, 1, { per = 1 } }, "capacity" },
    { "take", { key, 1, { capacity = 1 } }, "per" }, { "take", { key, 1, { capacity = 1, per = 0 } }, "per" },
    { "take", { key, 1, { capacity = 1, per = 5e-324 } }, "per" },
    { "take", { key, 1, { capacity = 1, per = 1e16 } }, "per" },
    { "take", { key, 1, { capacity = 1e16, per = 1 } }, "capacity" },
    { "take", { key, 0 / 0, rate }, "n" }, { "take", { key, 2e15, { capacity = 1, per = 1, force = true } }, "n" },
    { "take", { key, 1e308, { capacity = 1, per = 1, cost = 1e9, force = true } }, "n" },
    { "take", { key, -1e308, { capacity = 1, per = 1, cost = 1e9, force = true } }, "n" },
    { "push", { key, {} }, "item" }, { "push", { key, "i", { id = "" } }, "id" }, { "claim", { "", 1 }, "owner" },
    { "claim", { "o", 0 }, "ttl" }, { "claim", { "o", 1, { queues = 1 } }, "queues" },
    { "ack", { key, "o", 1 }, "seq" },
    { "ack", { key, "o", 1.5, 1 }, "fence" }, { "unclaim", { key, "o" }, "fence" },
    { "unclaim", { key, "o", 1, { after = -1 } }, "after" }, { "watch", { key }, "seconds" },
    { "watch", { key, -1 }, "seconds" } }
end

return function(item)
  item("watch hears of puts and pushes of other machines, and ends when its time is over", function(kit)
    local one, two = kit:open(), kit:open()
    kit.equal(false, kit.fine("watch", one:watch(kit:name "none", PATIENCE)), "watch where nothing happens")
    for _, change in ipairs {
      function() kit:put(two, "w:v", "1") end,
      function() kit:push(two, "w:q", "1") end,
      function() kit.equal(true, two:delete(kit:name "w:v"), "delete") end,
    } do
      local heard
      kit.together {
        function() heard = kit.fine("watch", one:watch(kit:name "w:", SOON)) end,
        function()
          wait.sleep(PATIENCE)
          change()
        end,
      }
      kit.equal(true, heard, "watch where something changed")
    end
  end)

  item("S10. a wait that is cancelled leaves no half-made state", function(kit)
    local one, two = kit:open(), kit:open()
    scheduler.run(function()
      local done, err = scheduler.timeout(PATIENCE, function() return one:watch(kit:name "w", LONG) end)
      kit.check(done == nil and err and err.kind == "timeout", "a watch was not cancelled")
      for i = 1, 20 do
        local id = { id = "m" .. i }
        local task = scheduler.spawn(function()
          one:put(kit:name("v" .. i), "whole", { if_version = "absent" })
          one:push(kit:name "q", "whole" .. i, id)
          one:lease(kit:name("l" .. i), "a", 50 * kit.unit)
        end)
        wait.sleep(i % 4 == 0 and 0 or i * 2e-4)
        task:cancel()
        local value = kit.fine("get", two:get(kit:name("v" .. i)))
        kit.check(value == nil or value == "whole", "half a value: %s", tostring(value))
        kit.done("push", two:push(kit:name "q", "whole" .. i, id))
        kit.done("lease of the same owner", two:lease(kit:name("l" .. i), "a", 50 * kit.unit))
      end
    end)
    local queue, fence, items = kit.done("claim", kit:claim(one, "b", 50))
    kit.equal(20, #items, "items of twenty pushes that were repeated")
    for i, one_item in ipairs(items) do kit.equal("whole" .. i, one_item.item, "item") end
    kit.equal(true, one:ack(queue, "b", fence, items[20].seq), "ack")
  end)

  item("a call in a coroutine of one's own, which blocks, waits for no task that it stops", function(kit)
    local store, began, tasks = kit:open(), wait.now(), {}
    kit:put(kit:open(), "k", "v")
    for i = 1, 12 do
      local function look()
        local value, err = store:get(kit:name "k")
        if i > 6 and value == nil and errors.is_error(err) and err.code == "lock" then return end
        kit.equal("v", kit.fine("get", value, err), "value")
      end
      tasks[i] = i <= 6 and look or function() coroutine.wrap(look)() end
    end
    kit.together(tasks)
    kit.check(wait.now() - began < SOON, "calls that block took %g s", wait.now() - began)
  end)

  item("close ends waits and later calls, here alone", function(kit)
    local one, two = kit:open(), kit:open()
    kit.together {
      function() kit.fails("connect", "watch of a store that is closed", one:watch(kit:name "w", LONG)) end,
      function()
        wait.sleep(PATIENCE)
        kit.equal(true, one:close(), "close")
      end,
    }
    kit.equal(true, one:close(), "close once more")
    for name, arguments in pairs(calls(kit)) do
      kit.fails("connect", name .. " of a closed store", one[name](one, table.unpack(arguments)))
    end
    kit:put(two, "k", "v")
  end)

  item("wrong arguments are ArgumentErrors that name them", function(kit)
    local store = kit:open()
    for i, case in ipairs(wrong(kit:name "k")) do
      kit.refused(case[3], ("case %d: %s"):format(i, case[1]), store[case[1]], store, table.unpack(case[2], 1, 4))
    end
    kit:holds(store, "k", nil)
  end)

  item("describe says what the engine promises", function(kit)
    local about = kit.done("describe", kit:open():describe())
    kit.check(type(about.name) == "string" and type(about.version) == "string", "name and version: strings expected")
    kit.check(DURABLE[about.durable], "durable: %s", tostring(about.durable))
    kit.equal("string", type(about.clock), "type of clock")
  end)
end
