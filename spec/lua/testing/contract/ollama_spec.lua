-- Ollama's native wire under the contract of adapters.

local koine = require "koine"
local on_loopback = require "spec.lua.testing.contract.kit.on_loopback"

local busted = { describe = describe, it = it, assert = assert, setup = setup, teardown = teardown }

-- On this wire a model that refuses says so in its answer, and stops as it always does.
local SUPPORTS = { refusal = false, sensitive = false, refusal_words = false }

on_loopback(busted, "koine.ollama", koine.ollama, { model = "qwen3:4b", embed = { model = "e" } }, SUPPORTS)
