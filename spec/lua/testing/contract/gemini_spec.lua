-- Gemini's wire under the contract of adapters: a model that takes a level of thinking, one that takes a budget, one
-- that has no system prompt and does not think; Vertex AI with a token, and with a key.

local koine = require "koine"
local on_loopback = require "spec.lua.testing.contract.kit.on_loopback"

local busted = { describe = describe, it = it, assert = assert, setup = setup, teardown = teardown }

local EXPRESS = "/v1/publishers/google"
local LOCATED = "/v1/projects/{project}/locations/{location}/publishers/google"

-- Only ids that the provider gave go back. A refusal is an answer like others; a filter has a word.
local function suite(name, construct, options, supports)
  supports.exact_ids, supports.refusal, supports.refusal_words, supports.blocks = false, false, false, true
  on_loopback(busted, ("%s %s"):format(name, options.model), construct, options, supports)
end

local function gemini(model, supports)
  suite("koine.gemini", koine.gemini, { model = model, base_path = "/v1beta", embed = {} }, supports)
end

-- With the tests' key as a token.
local function located(given)
  given.token, given.key = given.key, nil
  return koine.vertex(given)
end

gemini("gemini-3.5-flash", {})
gemini("gemini-2.5-pro", {})
gemini("gemma-4-31b-it", { thinking_option = false, system_as_user = true })
suite("koine.vertex", located, { model = "gemini-3.5-flash", base_path = LOCATED, project = "p", location = "eu",
  embed = {} }, {})
suite("koine.vertex with a key", koine.vertex, { model = "gemini-2.5-flash", base_path = EXPRESS }, {})
