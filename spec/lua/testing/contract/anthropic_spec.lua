-- Anthropic's wire under the contract of adapters: a model that takes a thinking budget, and one that adapts.

local koine = require "koine"
local on_loopback = require "spec.lua.testing.contract.kit.on_loopback"

local busted = { describe = describe, it = it, assert = assert, setup = setup, teardown = teardown }

for _, model in ipairs { "claude-sonnet-4-5", "claude-sonnet-4-6" } do
  -- The wire has one word for a refusal and for a filter.
  on_loopback(busted, "koine.anthropic " .. model, koine.anthropic, { model = model },
    { signatures = true, blocks = true, sensitive = false })
end
