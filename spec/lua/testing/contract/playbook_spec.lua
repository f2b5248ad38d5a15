-- The playbook under the contract of adapters.

local contract = require "koine.testing.contract"
local on_playbook = require "spec.lua.testing.contract.kit.on_playbook"

local on = on_playbook()

contract.describe("koine.testing.playbook", {
  describe = describe, it = it, assert = assert, teardown = teardown,
  new = on.book, script = on.script, requests = on.requests,
  supports = { errors = true, signatures = true, blocks = true },
})
