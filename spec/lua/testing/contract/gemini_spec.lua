-- Gemini's wire under the contract of adapters: a model that takes a level of thinking, one that takes a budget, one
-- that has no system prompt and does not think.

local koine = require "koine"
local on_loopback = require "spec.lua.testing.contract.kit.on_loopback"

local busted = { describe = describe, it = it, assert = assert, setup = setup, teardown = teardown }

-- Only ids that the provider gave go back. A refusal is an answer like others; a filter has a word.
local function suite(model, supports)
  supports.exact_ids, supports.refusal, supports.refusal_words = false, false, false
  on_loopback(busted, "koine.gemini " .. model, koine.gemini, { model = model, base_path = "/v1beta" }, supports)
end

suite("gemini-3.5-flash", { blocks = true })
suite("gemini-2.5-pro", { blocks = true })
suite("gemma-4-31b-it", { blocks = true, thinking_option = false, system_as_user = true })
