-- The store in files, used by eight processes at the same time, of which some are killed.

local folder = require "spec.support.folder"
local processes = require "spec.lua.store.kit.processes"

describe("koine.store.file, used by eight processes", function()
  local dir

  before_each(function() dir = folder.in_memory() end)
  after_each(function() folder.remove(dir) end)

  local function options(more)
    more.folder, more.code = dir, ("return assert(require('koine').store.file { dir = %q })"):format(dir .. "/store")
    return more
  end

  it("keeps S1 to S7", function()
    local run = options { seeds = processes.seeds(10) }
    local records = processes.run(run)
    local done = {}
    for _, record in ipairs(records) do
      local key = record.op .. (record.got and record.got ~= 0 and "" or " refused")
      done[key] = (done[key] or 0) + 1
    end
    local expected = { "cas", "cas refused", "lease", "lease refused", "fenced", "fenced refused", "take refused",
      "push", "claim", "ack", "unclaim" }
    for _, op in ipairs(#run.seeds < 10 and {} or expected) do
      assert.is_truthy(done[op], op .. " never happened")
    end
    assert.are.same({}, processes.problems(run, records))
  end)

  it("keeps them where three are killed", function()
    local run = options { seeds = processes.seeds(3), killed = 3 }
    assert.are.same({}, processes.problems(run, processes.run(run)))
  end)
end)
