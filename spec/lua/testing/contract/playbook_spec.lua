-- The playbook under the contract of adapters. What it "sends" is its log of calls.

local contract = require "koine.testing.contract"
local core = require "koine.core"
local playbook = require "koine.testing.playbook"

local steps, books = {}, {}

contract.describe("koine.testing.playbook", {
  describe = describe, it = it, assert = assert, teardown = teardown,
  new = function(opts)
    local given = { steps = steps }
    for name, value in pairs(opts or {}) do given[name] = value end
    books[#books + 1] = playbook(given)
    return books[#books]
  end,
  script = function(turns)
    steps = {}
    for i, turn in ipairs(turns) do
      steps[i] = { step = i, type = "turn" }
      for name, value in pairs(turn) do steps[i][name] = value end
    end
  end,
  requests = function()
    local list = {}
    for _, book in ipairs(books) do
      for _, entry in ipairs(book.call_log) do
        for _, tool in ipairs(entry.tools or {}) do tool.run = nil end
        list[#list + 1] = { headers = {}, body = core.encode(entry) }
      end
    end
    return list
  end,
  supports = { errors = true, signatures = true, blocks = true },
})
