-- koine.response: made from a table here; what codecs make of answers is in the wire and contract specs.
local core = require "koine.core"
local koine = require "koine"
local raised = require "spec.support.raised"

local function sample(over)
  local t = {
    content = {
      { type = "thinking", thinking = "Hm. ", signature = "sig" },
      { type = "text", text = "One" },
      { type = "tool_use", id = "call_1", name = "add", arguments = { a = 1, list = koine.array {} } },
      { type = "text", text = "Two" },
    },
    model = "m-1", stop_reason = "tool_use", usage = { input_tokens = 3, output_tokens = 4 },
  }
  for k, v in pairs(over or {}) do t[k] = v end
  return koine.response(t)
end

describe("a Response", function()
  it("joins text and thinking, and is never nil for want of either", function()
    assert.are.equal("OneTwo", sample():text())
    assert.are.equal("Hm. ", sample():thinking())
    local silent = koine.response { model = "m", stop_reason = "end_turn" }
    assert.are.equal("", silent:text())
    assert.are.equal("", silent:thinking())
    assert.are.same({}, silent.content)
    assert.are.same({}, silent.tool_calls)
    assert.are.same({}, silent.warnings)
    assert.are.same({}, silent.usage)
  end)

  it("refuses a list as usage", function()
    local function with(usage) return { content = {}, model = "m", stop_reason = "end_turn", usage = usage } end
    local err = raised(koine.response, with { 1, 2, 3 })
    assert.are.equal("usage", err.field)
    assert.are.same({}, koine.response(with(koine.array {})).usage)
  end)

  it("wraps a lone string as one text block", function()
    local r = koine.response { content = "hello", model = "m", stop_reason = "end_turn" }
    assert.are.same({ { type = "text", text = "hello" } }, r.content)
    assert.are.same({}, koine.response { content = "", model = "m", stop_reason = "end_turn" }.content)
  end)

  it("holds every field that it is made of", function()
    local given = { content = {}, model = "m", stop_reason = "stop_sequence", raw_stop_reason = "stop",
      stop_sequence = "END", usage = { input_tokens = 1, output_tokens = 2, cache_read_tokens = 3,
      cache_creation_tokens = 4, reasoning_tokens = 5 }, logprobs = { { token = "a", logprob = -0.5,
      bytes = "\xE2\0", top = { { token = "a", logprob = -0.5 } } }, { token = "" } },
      id = "i", request_id = "r", provider = "p", status_code = 200, headers = { ["x-a"] = "b" },
      warnings = { { code = "c", field = "f", message = "m" } },
      attempts = { { status_code = 200, waited = 0 } }, partial = true, degenerate = true }
    local r = koine.response(given)
    for field, value in pairs(given) do assert.are.same(value, r[field], field) end
    local copy = r:to_table()
    for field, value in pairs(given) do assert.are.same(value, copy[field], field) end
    assert.are.same(copy, r:to_table "an argument too many")
    assert.is_nil(r:raw())
  end)

  it("is made without asking the table's metatable, which could call the core meanwhile", function()
    local t = setmetatable({ content = "hello", model = "m", stop_reason = "end_turn" },
      { __index = function() error "asked" end })
    assert.are.equal("hello", koine.response(t):text())
  end)

  it("has for absent fields nil, but arrays where there are arrays", function()
    local r = koine.response { model = "m", stop_reason = "end_turn" }
    for _, field in ipairs { "raw_stop_reason", "stop_sequence", "id", "request_id", "provider", "status_code",
      "headers", "attempts", "partial", "degenerate", "logprobs" } do
      assert.is_nil(r[field], field)
    end
    for _, count in ipairs { "input_tokens", "output_tokens", "cache_read_tokens" } do assert.is_nil(r.usage[count]) end
  end)

  it("gives a table of every field that is set, which shares nothing with it", function()
    local server <close> = assert(koine.testing.start { script = { { error = { status = 529,
      headers = { ["retry-after-ms"] = "1" } } }, { stop_reason = "stop_sequence", stop_sequence = "END", content = {
      { type = "thinking", thinking = "Hm.", signature = "s" }, { type = "text", text = "One." },
      { type = "tool_use", id = "c1", name = "add", arguments = { a = 1 } } },
      usage = { input_tokens = 1, output_tokens = 2, cache_read_tokens = 3, cache_creation_tokens = 4 } } } })
    local r = assert(koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = server.url, thinking = "low" }
      :chat("Hi.", { temperature = 1.5 }))
    local copy = r:to_table()
    for _, field in ipairs { "content", "tool_calls", "model", "stop_reason", "raw_stop_reason", "stop_sequence",
      "usage", "id", "request_id", "provider", "status_code", "headers", "warnings", "attempts" } do
      assert.is_not_nil(r[field], field)
      assert.are.same(r[field], copy[field], field)
      if type(copy[field]) == "table" then assert.is_false(rawequal(r[field], copy[field]), field) end
    end
    assert.are.equal(2, #copy.attempts)
    assert.is_true(copy.usage.cost.total > 0)
    assert.is_false(rawequal(copy.usage.cost, r.usage.cost) or rawequal(copy.attempts[1], r.attempts[1]))
    assert.is_true(rawequal(copy.content[3], copy.tool_calls[1]))
    assert.are.equal(1, #copy.tool_calls)
    copy.attempts[1].waited, copy.usage.cost.total, copy.content[2].text = -1, -1, "changed"
    assert.is_true(r.attempts[1].waited >= 0 and r.usage.cost.total > 0 and r:text() == "One.")
    assert.is_nil(getmetatable(copy.usage) or getmetatable(copy.content[1]))
    copy = r:to_table()
    copy.usage.cost, copy.usage.cost_source = nil, nil
    assert.is_true(koine.response(copy) == r)
  end)

  it("prints its blocks and its usage, which stay plain tables otherwise", function()
    local r = sample { usage = { input_tokens = 3, output_tokens = 4 } }
    assert.are.equal('koine.text {text = "One"}', tostring(r.content[2]))
    assert.are.equal('koine.thinking {thinking = "Hm. ", signature = "sig"}', tostring(r.content[1]))
    assert.are.equal('koine.tool_use {id = "call_1", name = "add", arguments = {a = 1, list = {}}}',
      tostring(r.tool_calls[1]))
    assert.are.equal("koine.usage {input_tokens = 3, output_tokens = 4}", tostring(r.usage))
    local keys = {}
    for key in pairs(r.usage) do keys[#keys + 1] = key end
    table.sort(keys)
    assert.are.same({ "input_tokens", "output_tokens" }, keys)
    assert.are.equal('{"input_tokens":3,"output_tokens":4}', core.encode(r.usage))
    assert.are.equal('{"text":"One","type":"text"}', core.encode(r.content[2]))
    assert.is_true(r.content[2] == koine.text { text = "One" })
    assert.is_false(r.content[2] == sample().content[2]) -- a table of its own, as ever
    local opaque = koine.response { model = "m", stop_reason = "end_turn", content = { { type = "opaque",
      provider_data = { provider = "p", model = "m", raw = ("x"):rep(200) } } } }
    assert.is_true(#tostring(opaque.content[1]) < 200, tostring(opaque.content[1]))
  end)

  it("is refused where a field is not what it should be", function()
    local function refused(over)
      local err = raised(sample, over)
      assert.are.equal("ArgumentError", err.class)
      return err
    end
    for _, word in ipairs { "stop", "END_TURN", "", "done" } do
      local err = refused { stop_reason = word }
      assert.are.equal("stop_reason", err.field)
      assert.is_truthy(err.expected:find("end_turn, tool_use, max_tokens", 1, true))
      assert.is_truthy(err.message:find(('got "%s"'):format(word), 1, true), err.message)
    end
    assert.are.equal("stop_reason", refused { stop_reason = "error" }.field)
    assert.are.equal("error", sample({ stop_reason = "error", partial = true }).stop_reason)
    for _, word in ipairs { "end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal", "sensitive",
      "context_overflow" } do
      assert.are.equal(word, sample({ stop_reason = word }).stop_reason)
    end
    for field, value in pairs { model = 5, stop_reason = false, raw_stop_reason = 5, stop_sequence = {}, usage = "5",
      id = 7, request_id = true, provider = {}, status_code = "200", headers = "x", warnings = "none", attempts = 1,
      partial = 1, degenerate = "yes", logprobs = "a" } do
      assert.are.equal(field, refused({ [field] = value }).field)
    end
    for _, token in ipairs { "a", 7, {}, { token = 7 } } do
      assert.are.equal("logprobs[2].token", refused({ logprobs = { { token = "a" }, token } }).field)
    end
    for _, count in ipairs { -1, 1.5, "7" } do
      assert.are.equal("usage.output_tokens", refused({ usage = { output_tokens = count } }).field)
    end
    assert.are.equal(7, sample({ usage = { output_tokens = 7.0, cost = { total = 0.1 } } }).usage.output_tokens)
    assert.are.equal("response", raised(koine.response, "text").field)
  end)

  it("makes its tables once, and tool_calls are the very tables of content", function()
    local r = sample()
    assert.are.equal(r.content, r.content)
    assert.are.equal(r.tool_calls, r.tool_calls)
    assert.are.equal(1, #r.tool_calls)
    assert.are.equal(r.content[3], r.tool_calls[1])
    assert.are.equal(r.content, r:message().content)
    assert.are.equal("assistant", r:message().role)
  end)

  it("lets an edit of content show", function()
    local r = sample()
    r.content[2].text = "Won"
    assert.are.equal("WonTwo", r:text())
  end)

  it("adds tool_calls that content lacks, and only those", function()
    local call = { type = "tool_use", id = "call_9", name = "f", arguments = {} }
    local r = koine.response { content = "x", tool_calls = { call }, model = "m", stop_reason = "tool_use" }
    assert.are.equal(2, #r.content)
    assert.are.equal("call_9", r.tool_calls[1].id)
    r = koine.response { content = { call }, tool_calls = { call }, model = "m", stop_reason = "tool_use" }
    assert.are.equal(1, #r.content)
  end)

  it("is equal by what it says", function()
    assert.are.equal(sample(), sample())
    assert.is_true(sample() == sample { request_id = "other", status_code = 200 })
    assert.is_false(sample() == sample { stop_reason = "end_turn" })
    assert.is_false(sample() == sample { usage = { input_tokens = 4, output_tokens = 4 } })
  end)

  it("is read-only, short in tostring, and named", function()
    local r = sample()
    assert.are.equal("koine.response (tool_use, 4 output tokens)", tostring(r))
    assert.matches("^koine%.response", tostring(koine.response { model = "m", stop_reason = "end_turn" }))
    local ok, err = pcall(function() r.content = {} end)
    assert.is_false(ok)
    assert.are.equal("ArgumentError", err.class)
  end)

  it("gives a plain copy", function()
    local r = sample()
    local t = r:to_table()
    assert.is_nil(getmetatable(t))
    assert.are_not.equal(r.content, t.content)
    assert.are.same(r.content, t.content)
    assert.are.equal(r, koine.response(t))
  end)

  it("rejects unknown, missing and malformed fields by name", function()
    for field, bad in pairs {
      colour = { model = "m", stop_reason = "end_turn", colour = 1 },
      model = { stop_reason = "end_turn" },
      stop_reason = { model = "m" },
      usage = { model = "m", stop_reason = "end_turn", usage = 3 },
      ["response.content[1].text"] = { model = "m", stop_reason = "end_turn", content = { { type = "text" } } },
      ["response.content[1].type"] = { model = "m", stop_reason = "end_turn", content = { { type = "sound" } } },
    } do
      local ok, err = pcall(koine.response, bad)
      assert.is_false(ok)
      assert.are.equal(field, err.field)
      assert.matches("response_spec%.lua:%d+: ", err.message)
    end
  end)

  it("rejects content that is neither a string nor an array", function()
    for _, content in ipairs { 5, 1.5, true, koine.null, print } do
      local ok, err = pcall(koine.response, { model = "m", stop_reason = "end_turn", content = content })
      assert.is_false(ok)
      assert.are.equal("content", err.field)
    end
  end)

  it("keeps what it holds where the collector can see it", function()
    collectgarbage() collectgarbage()
    local before = collectgarbage "count"
    local kept = koine.response { content = ("x"):rep(1 << 20), model = "m", stop_reason = "end_turn" }
    collectgarbage() collectgarbage()
    assert.is_true(collectgarbage "count" - before > 1000)
    assert.are.equal(1 << 20, #kept:text())
  end)
end)
