-- Recorded answers of a shape: the value is what stands in them, read by hand, judged by the schema that was sent; in a
-- stream it grows to that, however the bytes are split. Without KOINE_RECORDINGS there is nothing to replay.

local core = require "koine.core"
local koine = require "koine"
local records = require "koine.data.records"
local replay = require "spec.lua.codec.replay"

local directory = os.getenv "KOINE_RECORDINGS"

local JOHN = { name = "John", age = 30 }
local CANARY = { lane = "canary", checks = { compile = true, replay = true }, risk = "low" }
local RUST = { title = "Memory-Safe Systems Programming", summary = "Rust is a systems programming language that "
  .. "guarantees memory safety and concurrency without a garbage collector through compile-time ownership checks." }

-- folder/name → the value
local EXPECTED = {
  ["anthropic-messages/structured-output"] = JOHN,
  ["openai-chat/structured-output"] = { word = "pong" },
  ["openai-responses/structured-output"] = JOHN,
  ["gemini-generatecontent/structured-output-json-schema"] = JOHN,
  ["openrouter-chat/structured-output"] = JOHN,
  ["bedrock-converse/structured-output"] = JOHN,
  ["bedrock-mantle-responses/structured-output"] = { city = "Paris", country = "France" },
  ["mistral-chat/structured-output"] = CANARY,
  ["groq-chat/reasoning-json-schema"] = CANARY,
  ["ollama-native/structured-output-thinking"] = RUST,
}

-- The schema that was sent, on every wire.
local function schema_of(request)
  local text, config = request.text, request.generationConfig
  if request.response_format then return request.response_format.json_schema.schema end
  if text then return text.format.schema end
  if request.output_config then return request.output_config.format.schema end
  if config then return config.responseJsonSchema end
  if request.format then return request.format end
  return (core.decode(request.outputConfig.textFormat.structure.jsonSchema.schema))
end

local PLAIN <const> = { "anthropic-messages/structured-output", "openai-chat/structured-output",
  "openai-responses/structured-output", "gemini-generatecontent/structured-output-json-schema",
  "mistral-chat/structured-output", "groq-chat/reasoning-json-schema", "openrouter-chat/structured-output",
  "bedrock-converse/structured-output", "bedrock-mantle-responses/structured-output",
  "ollama-native/structured-output-thinking" }
local STREAMS <const> = { "openai-responses/stream-structured-output",
  "gemini-generatecontent/stream-structured-output", "bedrock-converse/stream-structured-output" }

-- These hold more than the value, and have tests of their own.
local OTHERS <const> = { "anthropic-messages/structured-output-with-strict-tool" }

-- True when `part` is a view of `whole` that arrived in part: strings are prefixes, everything else is equal or absent.
local function is_part(part, whole)
  if type(part) == "string" then return type(whole) == "string" and whole:sub(1, #part) == part end
  if type(part) ~= "table" then return part == whole end
  if type(whole) ~= "table" then return false end
  for name, member in pairs(part) do
    if not is_part(member, whole[name]) then return false end
  end
  return true
end

-- Returns the model's text, decoded.
local function written(response)
  for _, block in ipairs(response.content) do
    if block.type == "tool_use" then return block.arguments end
  end
  return (core.decode(response:text():match "%b{}"))
end

describe("a recorded answer with a shape", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  if not directory then
    it("waits for KOINE_RECORDINGS", function() assert.is_truthy(next(EXPECTED)) end)
    return
  end

  local function load(path)
    local folder, name = path:match "^([^/]*)/(.*)$"
    return replay.load(directory, folder, name)
  end

  local function play(recording, opts)
    opts.output = opts.output or { schema = schema_of(recording.request), mode = "native", strict = false }
    return replay.run(server, recording, opts)
  end

  it("has a test wherever its name says that it has a shape", function()
    local tested, untested = {}, {}
    for _, list in ipairs { PLAIN, STREAMS, OTHERS } do
      for _, path in ipairs(list) do tested[path] = true end
    end
    for _, path in ipairs(replay.all(directory, "/.*structured%-output")) do
      if not tested[path] then untested[#untested + 1] = path end
    end
    assert.are.same({}, untested)
  end)

  for _, path in ipairs(PLAIN) do
    it("is read, also byte by byte: " .. path, function()
      local recording = load(path)
      local text = replay.run(server, recording).response:text()
      for _, fault in ipairs { {}, { write_bytes = 1 } } do
        local outcome = play(recording, { fault = fault })
        local r = assert(outcome.response, outcome.err)
        assert.is_nil(r.output_error)
        assert.are.same(EXPECTED[path], r.output)
        assert.are.same(written(r), r.output)
        assert.are.equal(text, r:text())
      end
    end)
  end

  for _, path in ipairs(STREAMS) do
    it("grows to the value: " .. path, function()
      local recording = load(path)
      local r = assert(play(recording, {}).response)
      local whole = r.output
      assert.are.same(written(r), whole)
      local body = type(recording.response.body) == "string" and recording.response.body or ""
      for _, size in ipairs { 1, 7, 64, 1024 } do
        local outcome = play(recording, { fault = { write_bytes = size } })
        local last
        for _, delta in ipairs(outcome.deltas) do
          if delta.type == "output_delta" then last = delta.value end
        end
        assert.are.same(whole, last)
      end
      assert.is_true(#body > 0)
    end)

    it("is a part of the value at every delta: " .. path, function()
      local recording = load(path)
      local whole = assert(play(recording, {}).response).output
      local before, count = nil, 0
      local outcome = play(recording, { each = function(delta)
        if delta.type ~= "output_delta" then return end
        local part = records.to_table(delta.value)
        assert.is_true(is_part(part, whole))
        assert.is_true(before == nil or is_part(before, part)) -- nothing goes back
        before, count = part, count + 1
      end })
      assert.are.same(whole, outcome.response.output)
      assert.is_true(count > 2)
    end)
  end

  it("is none yet where a strict tool was called", function()
    local recording = load "anthropic-messages/structured-output-with-strict-tool"
    local r = assert(play(recording, {}).response)
    assert.are.equal("tool_use", r.stop_reason)
    assert.are.same({ 1, recording.request.tools[1].name }, { #r.tool_calls, r.tool_calls[1].name })
    assert.is_nil(r.output)
    assert.is_nil(r.output_error)
  end)

  it("is taken out of the fence of a server that does not heed json_object", function()
    local recording = load "llamacpp-chat/json-object-not-enforced"
    local r = assert(play(recording, { output = { mode = "object" } }).response)
    assert.are.same({ city = "Paris" }, r.output)
    assert.are.equal("output_extracted", r.warnings[1].code)
    r = assert(play(recording, { output = { mode = "native", schema = { type = "object" } } }).response)
    assert.is_nil(r.output)
    assert.are.equal("not_json", r.output_error.code)
  end)

  it("is refused where the model refuses, and not asked for again", function()
    local recording = load "openai-chat/stream-refusal"
    local wanted = { schema = schema_of(recording.request), mode = "native", repair = 2 }
    local r = assert(play(recording, { output = wanted }).response)
    assert.are.same({ "refused", "I'm very sorry, but I can't assist with that." }, { r.output_error.code,
      r.output_error.message })
  end)
end)
