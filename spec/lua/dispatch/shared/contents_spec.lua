-- What a dispatcher on a store finds there: histories of its own and of agents, and what is neither.

local kit = require "spec.lua.dispatch.shared.kit"
local koine = require "koine"

describe("a dispatcher on a store that finds", function()
  local lab, a
  local KEY = "h:dispatch:slack:T1"

  before_each(function()
    lab = kit.lab()
    a = lab:machine "A"
  end)

  for name, value in pairs { ["no JSON"] = "not JSON\nhistory", ["another format"] = '{"format":"other"}',
    ["a later version"] = '{"format":"koine.thread","version":2,"seq":1,"fence":1}',
    ["wrong types"] = '{"format":"koine.thread","version":1,"seq":"1","fence":1}' } do
    it(name .. " in place of a history fails the batch, names the value and leaves it alone", function()
      assert(a.d:reset(kit.thread "T1")) -- which was done long before
      a:drain()
      lab:words()
      assert(lab.store:put(KEY, value))
      assert(a:say("T1", "ann", "m1"))
      assert(a:say("T1", "bob", "m2"))
      assert.are.equal(1, a:drain())
      assert.are.equal("A:error:m1:protocol A:error:m2:protocol A:warning A:session_error", lab:words())
      assert.is_truthy(tostring(a.errors[1]):find("the value " .. KEY .. " holds no history of a thread", 1, true))
      assert.are.equal(value, (lab.store:get(KEY)))
      assert.are.equal(0, lab:left "T1")
      assert(a.d:cancel_all(kit.thread "T1"))
      a:drain()
      assert.are.equal(value, (lab.store:get(KEY)))
      assert(a.d:reset(kit.thread "T1"))
      assert(a:say("T1", "ann", "m3"))
      lab:words()
      a:drain()
      assert.are.equal("reset:slack:T1 A:m3 A:done:m3 A:ok", lab:words())
      assert.are.equal("<m3>", lab:history "T1")
    end)
  end

  it("items that hold no message puts them aside, and plays the others", function()
    local queue = "dispatch:slack:T1"
    for _, item in ipairs { "garbage", "{}", '{"format":"koine.message","thread":{"platform":"slack","thread_id":"T2"},'
      .. '"message":{"sender_json":"{}"}}' } do
      assert(lab.store:push(queue, item))
    end
    assert(a:say("T1", "ann", "m1"))
    a:drain()
    assert.are.equal("A:warning A:m1 A:done:m1 A:ok", lab:words())
    assert.are.equal("protocol", a.warnings[1].err.kind)
    assert.are.equal("items that hold no message are in dead:dispatch:slack:T1: 3", a.warnings[1].err.message)
    local count, items = lab:left("T1", true)
    assert.are.equal(3, count)
    assert.are.equal("garbage", items[1].item)
    assert.are.equal(3, a.d:stats().dead)
  end)

  it("an item that holds no message, behind a message, is put aside once", function()
    assert(a:say("T1", "ann", "m1"))
    assert(lab.store:push("dispatch:slack:T1", "garbage"))
    for _ = 1, 3 do a.d:step() end
    assert.are.equal("A:warning A:m1 A:done:m1 A:ok", lab:words())
    assert.are.equal(1, (lab:left("T1", true)))
    assert.are.equal(0, lab:left "T1")
  end)

  it("a value that holds no commands plays on", function()
    assert(lab.store:put("c:dispatch:slack:T1", "garbage"))
    assert(a:say("T1", "ann", "m1"))
    a:drain()
    assert.are.equal("A:m1 A:done:m1 A:ok", lab:words())
    local done, err = a.d:cancel_turn(kit.thread "T1")
    assert.is_nil(done)
    assert.are.equal("protocol", err.kind)
    assert.is_truthy(tostring(err):find("c:dispatch:slack:T1", 1, true))
  end)

  it("no room for the new history keeps the old one, and tells the error", function()
    assert(a:say("T1", "ann", "m1"))
    a:drain()
    a.d.target.run_turn = function(_, _, _, ctx)
      ctx.keep(("x"):rep(1 << 24))
      return "answer"
    end
    assert(a:say("T1", "ann", "m2"))
    lab:words()
    a:drain()
    assert.are.equal("A:error:m2:limit A:warning A:error", lab:words())
    assert.are.equal("<m1>", lab:history "T1")
    assert.are.equal(0, lab:left "T1")
  end)

  it("any bytes that a target kept returns them", function()
    local bytes = "a\nb\0\xff\n"
    a.d.target.run_turn = function(_, _, _, ctx)
      lab.log[#lab.log + 1] = tostring(ctx.history == bytes)
      ctx.keep(ctx.history ~= bytes and bytes or nil)
      return true
    end
    for i = 1, 3 do
      assert(a:say("T1", "ann", "m" .. i))
      a:drain()
    end
    assert.are.equal("false true false", (lab:words():gsub(" A:%S+", "")))
  end)

  describe("agents", function()
    local server

    setup(function() server = assert(koine.testing.start()) end)
    teardown(function() server:stop() end)
    before_each(function() assert(server:reset()) end)

    local function new_agent()
      return koine.agent { adapter = koine.anthropic { model = "claude-sonnet-4-5", key = "test-key",
        base_url = server.url } }
    end

    local function machine(name, first)
      local made = { n = 0 }
      local target = koine.dispatcher.agents(function()
        made.n = made.n + 1
        return new_agent(), first
      end)
      return lab:machine(name, { target = target, on_done = function(message, _, result)
        lab.log[#lab.log + 1] = name .. ":" .. message.prompt .. ":" .. result.text
      end }), target, made
    end

    it("of two machines go on with one history", function()
      assert(server:script { { content = "one" }, { content = "two" }, { content = "three" } })
      local one, target, made = machine("A", { { role = "user", content = "before" },
        { role = "assistant", content = "yes" } })
      local two = machine "B"
      for i, who in ipairs { one, two, one } do
        assert(one:say("T1", "ann", "m" .. i))
        who:drain()
      end
      assert.are.equal("A:m1:one A:ok B:m2:two B:ok A:m3:three A:ok", lab:words())
      local requests = assert(server:requests())
      local body = require("cjson").decode(requests[3].body)
      assert.are.equal(7, #body.messages)
      assert.are.equal("before", body.messages[1].content[1].text or body.messages[1].content)
      for _, request in ipairs(requests) do assert.are.same({}, request.problems) end
      assert.is_nil(next(target.sessions))
      assert.are.equal(2, made.n)
      local kept = require("cjson").decode(lab:history "T1")
      assert.are.equal("koine.dispatcher.agents", kept.format)
      assert.are.equal(8, #kept.messages)
    end)

    it("keep the history of before where the model did not answer", function()
      assert(server:script { { content = "one" }, { error = { status = 400, message = "no" } }, { content = "two" } })
      local one = machine "A"
      for i = 1, 3 do
        assert(one:say("T1", "ann", "m" .. i))
        one:drain()
      end
      assert.are.equal("A:m1:one A:ok A:error:m2:invalid_request A:warning A:error A:m3:two A:ok", lab:words())
      assert.are.equal(4, #require("cjson").decode(lab:history "T1").messages)
    end)

    it("fail where the history is none of theirs, name the thread, and leave the history alone", function()
      for _, text in ipairs { "no JSON", "{}", '{"format":"koine.dispatcher.agents","version":1,"messages":[{}]}' } do
        lab = kit.lab()
        local one = machine "A"
        a = lab:machine("B", { target = { run_turn = function(_, _, _, ctx)
          ctx.keep(text)
          return true
        end } })
        assert(a:say("T1", "ann", "m1"))
        a:drain()
        lab:words()
        assert(one:say("T1", "ann", "m2"))
        one:drain()
        assert.are.equal("A:error:m2:protocol A:warning A:session_error", lab:words())
        assert.is_truthy(tostring(one.errors[1]):find("the history of slack:T1 cannot be read", 1, true))
        assert.are.equal(text, lab:history "T1")
      end
    end)
  end)
end)
