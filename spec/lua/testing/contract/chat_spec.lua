-- OpenAI's Chat wire under the contract of adapters: a model that reasons, one that does not, an unknown server.

local koine = require "koine"
local on_loopback = require "spec.lua.testing.contract.kit.on_loopback"

local busted = { describe = describe, it = it, assert = assert, setup = setup, teardown = teardown }

-- On this wire a refusal is a block of its own; a stop reason alone says only that a filter cut.
on_loopback(busted, "koine.openai gpt-5", koine.openai, { model = "gpt-5", api = "chat" }, { refusal = false })
on_loopback(busted, "koine.openai gpt-4.1", koine.openai, { model = "gpt-4.1", api = "chat", embed = {} },
  { refusal = false, thinking_option = false })
on_loopback(busted, "koine.compatible", koine.compatible, { model = "m", api = "chat", embed = { model = "e" } },
  { refusal = false })
