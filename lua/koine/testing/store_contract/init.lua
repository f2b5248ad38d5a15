--- The contract of stores: it shows the author of an engine that it can stand in for every other one. With busted:
--
--   koine.testing.store_contract.describe("my engine", {
--     describe = describe, it = it, open = function() return my_engine { … } end,
--   })
--
-- without:
--
--   local report = koine.testing.store_contract.run { open = function() return my_engine { … } end }
--   assert(report.failed == 0, report.text)
--
-- Items that are numbered S1 to S10 are the invariants of docs/stores.md. All names that the items use begin with
-- "contract:" and are new in each run.

local check = require "koine.data.check"
local errors = require "koine.data.errors"
local kits = require "koine.testing.store_contract.kit"

local contract = {}

local UNIT = 0.25           -- seconds
local VALUE_MAX = 16 << 20  -- bytes
local SEEDS = { 1, 2, 3 }

local PARTS = { "values", "leases", "buckets", "queues", "waits", "random" }

local OPTIONS = check.options({ open = check.required(check.func), pass = check.func, restart = check.func,
  unit = check.default(check.time_limit, UNIT), value_max = check.default(check.integer(1), VALUE_MAX),
  seeds = check.list(check.integer(1)), describe = check.func, it = check.func }, { path = "contract" })

-- {name, run} of one item; a kit of its own, whose handles are closed at its end.
local function made(spec, name, test, seed)
  return { name = name, run = function()
    local kit = kits.new(spec, name:match "^%w+", seed)
    local ok, err = pcall(test, kit)
    kit:close()
    if not ok then error(err, 0) end
  end }
end

--- The items as an array of {name = string, run = function() that raises where the item fails}. `spec` holds
--   open()         a store, each time another handle onto the same contents: another machine
--   pass(seconds)  lets time pass for the engine: of an engine with a clock of the test's; absent: sleeps
--   restart()      ends the engine and starts it again with what it kept; absent: nothing is asked of restarts
--   unit           seconds, the shortest ttl that the items use; 0.25
--   value_max      bytes of the largest value; 16 MiB
--   seeds          array of integers for the random items; { 1, 2, 3 }
-- Raises an ArgumentError.
function contract.items(spec)
  local kept, items = OPTIONS(spec), {}
  for _, part in ipairs(PARTS) do
    require("koine.testing.store_contract." .. part)(function(name, test, needs)
      if needs == "seeds" then
        for _, seed in ipairs(kept.seeds or SEEDS) do
          items[#items + 1] = made(kept, ("%s (seed %d)"):format(name, seed), test, seed)
        end
      elseif not needs or kept[needs] then
        items[#items + 1] = made(kept, name, test)
      end
    end)
  end
  return items
end

--- Registers the items under `name` with describe and it of `spec` (busted's; absent: the globals of these names).
-- Raises an ArgumentError.
function contract.describe(name, spec)
  check.string(name, "name")
  local items = contract.items(spec)
  local describe, it = spec.describe or _G.describe, spec.it or _G.it
  if not describe then errors.argument("contract.describe", "busted's describe", nil) end
  if not it then errors.argument("contract.it", "busted's it", nil) end
  describe("store contract: " .. name, function()
    for _, item in ipairs(items) do it(item.name, item.run) end
  end)
end

--- Runs the items: {passed, failed (integers), failures = array of {name, message}, text = a line for each failure}.
-- Raises an ArgumentError.
function contract.run(spec)
  local report = { passed = 0, failed = 0, failures = {} }
  local lines = {}
  for _, item in ipairs(contract.items(spec)) do
    local ok, err = pcall(item.run)
    if ok then
      report.passed = report.passed + 1
    else
      report.failed = report.failed + 1
      report.failures[report.failed] = { name = item.name, message = tostring(err) }
      lines[report.failed] = item.name .. ": " .. tostring(err)
    end
  end
  report.text = table.concat(lines, "\n")
  return report
end

return contract
