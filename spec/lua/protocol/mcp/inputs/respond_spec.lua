-- What a client declares, and the input requests of the modern era.

local core = require "koine.core"
local inputs = require "koine.protocol.mcp.inputs"
local kit = require "spec.lua.protocol.rpc.kit"
local koine = require "koine"

local FORM = { method = "elicitation/create", params = { message = "?", requestedSchema = { type = "object",
  properties = { name = { type = "string" } } } } }

local function accept(name)
  return function() return { action = "accept", content = { name = name } } end
end

describe("inputs", function()
  it("declare what was given, and nothing else", function()
    local model = koine.testing.playbook { steps = {} }
    for _, case in ipairs {
      { {}, "{}", 0 },
      { { on_elicit = accept "x" }, '{"elicitation":{"form":{},"url":{}}}', 1 },
      { { sampling = model }, '{"sampling":{}}', 1 },
      { { sampling = model, sampling_tools = true }, '{"sampling":{"tools":{}}}', 1 },
      { { sampling_tools = true, approve_sampling = print }, "{}", 0 },
      { { roots = {} }, '{"roots":{}}', 1 },
    } do
      local object, n = inputs.new(case[1]), 0
      for _ in next, object:handlers() do n = n + 1 end
      assert.equal(case[2], core.encode(object:capabilities()))
      assert.equal(case[3], n)
    end
  end)

  it("list the roots", function()
    local object = inputs.new { roots = { { uri = "file:///home/me", name = "home" }, { uri = "file:///tmp" } } }
    assert.same({ roots = { { uri = "file:///home/me", name = "home" }, { uri = "file:///tmp" } } },
      object:handlers()["roots/list"]())
    assert.equal('{"roots":[]}', core.encode(inputs.new { roots = {} }:handlers()["roots/list"]()))
  end)

  it("refuse options that are none", function()
    kit.raises("roots[1].uri", function() inputs.new { roots = { { uri = "/tmp" } } } end)
    kit.raises("on_elicit", function() inputs.new { on_elicit = {} } end)
    kit.raises("sampling", function() inputs.new { sampling = "claude" } end)
    kit.raises("sampling_max_tokens", function() inputs.new { sampling_max_tokens = 0 } end)
  end)

  it("answer all requests of a result, by the same keys", function()
    local object = inputs.new { roots = {}, sampling = function() return "Paris." end, on_elicit = accept "Ada" }
    assert.same({
      a = { action = "accept", content = { name = "Ada" } },
      ["key/2"] = { roots = {} },
      z = { role = "assistant", content = { type = "text", text = "Paris." }, model = "unknown",
        stopReason = "endTurn" },
    }, object:respond { a = FORM, ["key/2"] = { method = "roots/list" }, z = { method = "sampling/createMessage",
      params = { maxTokens = 5, messages = { { role = "user", content = { type = "text", text = "?" } } } } } })
    assert.same({}, object:respond {})
  end)

  it("are answered in the order of their keys, one after the other", function()
    local order, running = {}, 0
    local object = inputs.new { on_elicit = function(request)
      running = running + 1
      assert(running == 1)
      koine.sleep(0)
      order[#order + 1], running = request.message, running - 1
      return { action = "decline" }
    end }
    local requests = {}
    for _, key in ipairs { "c", "a", "b" } do
      requests[key] = { method = FORM.method, params = { message = key, requestedSchema = { type = "object" } } }
    end
    koine.run(function() assert(object:respond(requests)) end)
    assert.same({ "a", "b", "c" }, order)
  end)

  it("fail as a whole at the first request without an answer", function()
    local asked = 0
    local object = inputs.new { on_elicit = function()
      asked = asked + 1
      return { action = "accept", content = { name = asked == 1 and "Ada" or 7 } }
    end }
    local responses, err = object:respond { a = FORM, b = FORM, c = FORM }
    assert.is_nil(responses)
    assert.equal("invalid_request", err.kind)
    assert.equal("content.name", err.field)
    assert.equal(2, asked)
  end)

  it("fail for what was not declared, is malformed, or is too much", function()
    local object = inputs.new { on_elicit = accept "x" }
    for _, case in ipairs {
      { { a = { method = "roots/list" } }, "protocol", "does not offer: roots/list" },
      { { a = { method = "tools/call" } }, "protocol", "does not offer: tools/call" },
      { { a = {} }, "protocol", "malformed input request: a" },
      { { a = core.null }, "protocol", "malformed input request: a" },
      { { FORM }, "protocol", "no object" },
      { core.null, "protocol", "no object" },
      { { a = { method = FORM.method, params = { mode = "url", message = "?", url = "ftp://x" } } }, "protocol",
        "url: " },
    } do
      local responses, err = object:respond(case[1])
      assert.is_nil(responses)
      assert.equal(case[2], err.kind)
      assert.matches(case[3], err.message, 1, true)
    end
    local many = {}
    for i = 1, 101 do many["k" .. i] = FORM end
    assert.equal("limit", select(2, object:respond(many)).kind)
  end)

  it("answer a legacy server as requests of its own; what was not given is unknown there", function()
    local told
    local object = inputs.new { on_elicit = accept "Ada", warn = function(warning) told = warning end }
    local peer <close>, far = kit.alone { requests = object:handlers() }
    far.say { jsonrpc = "2.0", id = 1, method = FORM.method, params = FORM.params }
    far.say { jsonrpc = "2.0", id = 2, method = "roots/list" }
    far.say { jsonrpc = "2.0", id = 3, method = FORM.method, params = { message = "?" } }
    assert.is_true(peer:settle(kit.SAFETY) ~= nil)
    peer.shared:turn()
    local by_id = {}
    for _ = 1, 100 do
      for _, answer in ipairs(far.heard()) do by_id[answer.id] = answer end
      if by_id[1] and by_id[2] and by_id[3] then break end
      peer.shared:turn()
    end
    assert.same({ action = "accept", content = { name = "Ada" } }, by_id[1].result)
    assert.equal(-32601, by_id[2].error.code)
    assert.equal(-32602, by_id[3].error.code)
    assert.same({ code = "input_failed", field = FORM.method, message = by_id[3].error.message }, told)
  end)
end)
