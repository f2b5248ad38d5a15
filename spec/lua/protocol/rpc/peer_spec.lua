-- What a peer makes of messages, and which it writes. The other side is the spec itself, on a wire in this process.

local core = require "koine.core"
local kit = require "spec.lua.protocol.rpc.kit"
local koine = require "koine"
local rpc = require "koine.protocol.rpc"

local raises = kit.raises

describe("a peer", function()
  local peer, far

  local function open(opts, max) peer, far = kit.alone(opts, max) end

  after_each(function()
    if peer then peer:close() end
    peer = nil
  end)

  -- Lets the peer take what was said, and returns what it wrote.
  local function turn()
    peer.shared:turn()
    return far.heard()
  end

  describe("asks", function()
    it("with ids from 1, and hears the answers in any order", function()
      open()
      koine.run(function()
        local results = {}
        local tasks = {}
        for i = 1, 5 do
          tasks[i] = koine.spawn(function() results[i] = assert(peer:request("m", { i })) end)
        end
        koine.sleep(0)
        local heard = far.heard()
        for i, request in ipairs(heard) do
          assert.same({ jsonrpc = "2.0", id = i, method = "m", params = request.params }, request)
        end
        for i = 5, 1, -1 do far.say { id = i, result = { "for", heard[i].params[1] } } end
        for i = 1, 5 do
          tasks[i]:wait()
          assert.same({ "for", i }, { table.unpack(results[i]) })
        end
      end)
      assert.is_true(peer.calls:is_empty())
    end)

    it("in one line of sorted keys, without LF, and without params where there are none", function()
      open()
      peer:request("a/b", { z = "one\ntwo", a = core.null }, { timeout = 0 })
      peer:request("c", nil, { timeout = 0 })
      assert.equal(0, #turn()) -- they were taken back before they were written
      far.say { id = 3, result = 1 }
      assert.equal(1, peer:request("a/b", { z = "one\ntwo", a = core.null }))
      far.say { id = 4, result = 1 }
      assert.equal(1, peer:request "c")
      assert.equal('{"id":3,"jsonrpc":"2.0","method":"a/b","params":{"a":null,"z":"one\\ntwo"}}', far.raw())
      assert.equal('{"id":4,"jsonrpc":"2.0","method":"c"}', far.raw())
    end)

    it("and has further tasks, which others can wait for", function()
      open()
      local token, done = {}, false
      peer:spawn(function()
        done = peer:request "m"
        peer:wake(token)
      end)
      peer:turn()
      far.say { id = 1, result = "now" }
      assert.is_true(peer:await(token, function() return done ~= false end))
      assert.equal("now", done)
      token.deadline = 0
      assert.is_false(peer:await(token, function() return false end))
      assert.is_true(peer:is_open())
      far.finish()
      assert.is_nil((peer:request "m"))
      assert.is_false(peer:is_open())
    end)

    it("and keeps nulls and large integers", function()
      open()
      local big = { 1 << 60, math.mininteger, core.null, 0.1 }
      far.say '{"id":1,"result":{"a":null,"n":[1152921504606846976,-9223372036854775808,null,0.1]}}'
      local result = peer:request("m", big)
      assert.equal(core.null, result.a)
      assert.same(big, { table.unpack(result.n) })
      assert.equal("[1152921504606846976,-9223372036854775808,null,0.1]", far.raw():match '"params":(.*)}')
      far.say '{"id":2,"result":null}'
      assert.equal(core.null, peer:request "m")
      far.say '{"id":3,"result":false,"error":null}'
      assert.is_false(peer:request "m")
    end)

    it("with params that know the id", function()
      open()
      far.say { id = 1, result = {} }
      assert(peer:request("m", function(id) return { _meta = { progressToken = tostring(id) } } end))
      assert.same("1", far.heard()[1].params._meta.progressToken)
    end)

    it("with params whose JSON is given", function()
      open()
      far.say { id = 1, result = {} }
      assert(peer:request("m", function(id) return ('{"a":[1e400, null],"id":%d}'):format(id) end))
      assert.equal('{"id":1,"jsonrpc":"2.0","method":"m","params":{"a":[1e400, null],"id":1}}', far.raw())
    end)

    it("and is told what went wrong", function()
      open { secrets = { "hunter2-hunter2" } }
      for code, kind in pairs { [-32602] = "invalid_request", [-32600] = "invalid_request", [-32601] = "not_found",
        [-32603] = "server", [-32000] = "server", [7] = "server" } do
        far.say { id = peer.calls.last + 1, error = { code = code, message = "no: hunter2-hunter2",
          data = { why = { "hunter2-hunter2", 3 } } } }
        local result, err = peer:request "m"
        assert.is_nil(result)
        assert.same({ kind, tostring(code), "no: [redacted]", false },
          { err.kind, err.code, err.message, err.retryable })
        assert.same({ "[redacted]", 3 }, { table.unpack(err.data.why) })
      end
      for _, said in ipairs { "{}", '{"error":"x"}', '{"error":{"message":"x"}}', '{"error":{"code":"1"}}' } do
        far.say((said:gsub("^{", ('{"id":%d,'):format(peer.calls.last + 1)):gsub(",}", "}")))
        assert.equal("protocol", select(2, peer:request "m").kind)
      end
    end)

    it("and drops answers that come late, or to nothing", function()
      open()
      peer:request("m", nil, { timeout = 0.01 })
      for _, id in ipairs { "1", "1.5", '"2"', "99", "-1", "null", "[2]", "{}", "true" } do
        far.say(('{"id":%s,"result":"wrong"}'):format(id))
      end
      far.say { id = 2, result = "right" }
      assert.equal("right", peer:request "m")
      assert.equal(9, peer.counts.late)
    end)

    it("and raises for wrong use, without a trace", function()
      open()
      raises("method", peer.request, peer, 7)
      raises("params", peer.request, peer, "m", 7)
      raises("value.params.f", peer.request, peer, "m", { f = print })
      raises("timeuot", peer.request, peer, "m", {}, { timeuot = 1 })
      raises("method", peer.notify, peer)
      raises("requests.x", rpc.new, {}, { requests = { x = 1 } })
      assert.is_true(peer.calls:is_empty())
      assert.same({}, turn())
    end)
  end)

  describe("is asked", function()
    it("and echoes each id with its type", function()
      open { requests = { m = function() return 1 end } }
      for _, id in ipairs { "0", '"0"', "1", '""', "-7", "2.5", "9223372036854775807", "12345678901234567890", "1e400",
        '"12345678901234567890"', '"1e400"', '"\\u00e4"' } do
        far.say(('{"id":%s,"method":"m"}'):format(id))
        peer.shared:turn()
        assert.equal(('{"id":%s,"jsonrpc":"2.0","result":1}'):format((id:gsub("\\u00e4", "ä"))), far.raw())
      end
    end)

    it("while it asks with the same ids: the method is looked at first", function()
      open { requests = { m = function(params) return params end } }
      far.say { id = 1, method = "m", params = { "theirs" }, result = "no answer" }
      far.say { id = 1, result = "ours" }
      assert.equal("ours", peer:request "m")
      local heard = far.heard()
      table.sort(heard, function(a) return a.method ~= nil end)
      assert.same({ "m", "theirs" }, { heard[1].method, heard[2].result[1] })
    end)

    it("and always answers", function()
      open { secrets = { "hunter2-hunter2" }, requests = {
        raises = function() error("it broke: hunter2-hunter2 " .. ("x"):rep(1000)) end,
        raises_table = function() error { code = 5, message = "mine" } end,
        raises_nil = function() error() end,
        raises_error = function() return koine.anthropic { nonsense = 1 } end,
        returns = function() return nil, { code = -32000, message = "no", data = { a = 1 } } end,
        text = function() return nil, "words" end,
        odd = function() return print end,
        nothing = function() end,
      } }
      local got = {}
      for i, name in ipairs { "raises", "raises_table", "raises_nil", "raises_error", "returns", "text", "odd",
        "nothing", "unknown" } do
        far.say { id = i, method = name }
        local heard = turn()
        assert.equal(1, #heard)
        assert.equal(i, heard[1].id)
        got[name] = heard[1].error or heard[1]
      end
      assert.equal(-32603, got.raises.code)
      assert.is_truthy(got.raises.message:find "^it broke: %[redacted%] x+$")
      assert.is_true(#got.raises.message <= 500)
      assert.same({ -32603, "mine" }, { got.raises_table.code, got.raises_table.message })
      assert.equal(-32603, got.raises_nil.code)
      assert.equal(-32603, got.raises_error.code)
      assert.same({ code = -32000, message = "no", data = { a = 1 } }, got.returns)
      assert.same({ code = -32603, message = "words" }, got.text)
      assert.equal(-32603, got.odd.code)
      assert.equal(core.null, got.nothing.result)
      assert.same({ code = -32601, message = "Method not found: unknown" }, got.unknown)
    end)

    it("and refuses what is no request, and drops what is no message", function()
      open()
      for _, text in ipairs { '{"id":1,"method":7}', '{"id":true,"method":"m"}', '{"id":null,"method":"m"}' } do
        far.say(text)
        local heard = turn()[1]
        assert.equal(-32600, heard.error.code)
      end
      far.say '{"level":"info"}'
      far.say '{"method":{}}'
      assert.same({}, turn())
      assert.equal(5, peer.counts.invalid)
    end)

    it("for minutes, and goes on reading", function()
      local person = {}
      open { requests = {
        slow = function()
          while not person.said do koine.park(person) end
          return person.said
        end, fast = function() return "at once" end } }
      koine.run(function()
        local serving = koine.spawn(function() return peer:serve() end)
        far.say { id = 0, method = "slow" }
        for i = 1, 20 do far.say { id = i, method = "fast" } end
        koine.sleep(0.01)
        assert.equal(20, #far.heard())
        person.said = "yes"
        koine.wake(person)
        koine.sleep(0.01)
        local heard = far.heard()
        assert.same({ 0, "yes" }, { heard[1].id, heard[1].result })
        serving:cancel()
      end)
    end)

    it("by so many at once, then reading pauses", function()
      local gate, running = {}, 0
      open { handlers_max = 10, requests = { m = function()
        running = running + 1
        while not gate.open do koine.park(gate) end
      end } }
      for i = 1, 50 do far.say { id = i, method = "m" } end
      peer.shared:turn()
      assert.equal(10, running)
      gate.open = true
      koine.wake(gate)
      assert.is_true(peer:settle(kit.SAFETY))
      assert.is_true(#far.heard() >= 10)
      peer.shared:turn()
      assert.equal(50, running)
    end)

    it("and the handler is ended", function()
      local closed = 0
      open { requests = { m = function()
        local gone <close> = setmetatable({}, { __close = function() closed = closed + 1 end }) -- luacheck: ignore
        koine.sleep(kit.SAFETY)
      end } }
      for _, id in ipairs { 0, "0", 1 } do far.say { id = id, method = "m" } end
      peer.shared:turn()
      assert.is_true(peer:abort("0"))
      assert.is_false(peer:abort("0"))
      assert.is_false(peer:abort(7))
      assert.is_true(peer:abort(0, { code = -32000, message = "gone" }))
      local heard = far.heard()
      assert.same({ "0", -32800, 0, -32000 }, { heard[1].id, heard[1].error.code, heard[2].id, heard[2].error.code })
      assert.equal(2, closed)
      peer:close()
      assert.equal(3, closed)
      assert.same({}, far.heard())
    end)
  end)

  describe("hears", function()
    it("lines that are no messages, and goes on", function()
      open()
      for i = 1, 99 do far.say(("[banner %d"):format(i)) end
      far.say { id = 1, result = 1 }
      assert.equal(1, peer:request "m")
      assert.equal(99, peer.counts.stray)
      assert.equal("[banner 99", peer.said)
      for _, text in ipairs { "", "7", '"x"', "null", "[]", '[{"id":2,"result":1}]', ("y"):rep(1000) } do
        far.say(text)
      end
      far.say { id = 2, result = 2 }
      assert.equal(2, peer:request "m")
      assert.equal(106, peer.counts.stray)
      assert.equal(200, #peer.said)
    end)

    it("a hundred of them in a row, and breaks", function()
      open()
      for _ = 1, 100 do far.say "Usage: server --stdio" end
      local _, err = peer:request "m"
      assert.same({ "protocol", "100 lines in a row are no message; it said: Usage: server --stdio" },
        { err.kind, err.message })
      local _, again = peer:request "m"
      assert.equal("protocol", again.kind)
      assert.is_false(rawequal(err, again))
      assert.equal("protocol", select(2, peer:notify "m").kind)
      assert.equal("protocol", select(2, peer:serve()).kind)
    end)

    it("no secret in its errors", function()
      open { secrets = { "hunter2-hunter2" } }
      far.say "the key is hunter2-hunter2"
      far.finish()
      local _, err = peer:request "m"
      assert.equal("the other side ended the connection; it said: the key is [redacted]", err.message)
      peer:close()
      open { secrets = { "hunter2-hunter2" } }
      far.say(("."):rep(194) .. "hunter2-hunter2")
      far.finish()
      local _, cut = peer:request "m"
      assert.is_nil(cut.message:find("hunter", 1, true), cut.message)
      peer:close()
      open()
      far.say "sk0123456789abcdefghij"
      far.finish()
      assert.equal("the other side ended the connection", select(2, peer:request "m").message)
    end)

    it("batches, where they are allowed", function()
      open { batches = true, requests = { m = function(params) return params end } }
      far.say('[{"id":0,"method":"m","params":["a"]},7,{"id":1,"result":"ours"},'
        .. '{"id":98765432109876543210,"method":"m"}]')
      far.say "[]"
      assert.equal("ours", peer:request "m")
      peer.shared:turn()
      local raw = {}
      for line in far.raw do raw[#raw + 1] = line end
      assert.is_truthy(table.concat(raw):find('{"id":0,"jsonrpc":"2.0","result":["a"]}', 1, true))
      assert.is_truthy(table.concat(raw):find('{"id":98765432109876543210,"jsonrpc":"2.0","result":null}', 1, true))
      assert.equal(2, peer.counts.stray)
    end)

    it("what is nested beyond the limits, and breaks", function()
      open()
      far.say('{"id":1,"result":' .. ("["):rep(5000) .. ("]"):rep(5000) .. "}")
      assert.equal("limit", select(2, peer:request "m").kind)
    end)

    it("the end, or an error of the wire: all calls fail", function()
      open()
      koine.run(function()
        local tasks = {}
        for i = 1, 3 do tasks[i] = koine.spawn(function() return select(2, peer:request "m") end) end
        local serving = koine.spawn(function() return peer:serve() end)
        koine.sleep(0)
        far.finish()
        for i = 1, 3 do
          local err = tasks[i]:wait()
          assert.same({ "connect", "closed", false }, { err.kind, err.code, err.retryable })
        end
        assert.is_true(serving:wait())
      end)
    end)
  end)

  describe("is fed", function()
    it("one message at a time where its wire has no lines", function()
      local wrote = {}
      peer = rpc.new({ write = function(_, text)
        wrote[#wrote + 1] = text
        return true
      end }, { requests = { m = function() return 1 end } })
      peer:receive '{"id":0,"method":"m"}'
      assert.is_true(peer:settle(kit.SAFETY))
      assert.same({ '{"id":0,"jsonrpc":"2.0","result":1}\n' }, wrote)
      koine.run(function()
        local task = koine.spawn(function() return peer:request "x" end)
        koine.sleep(0)
        peer:receive '{"id":1,"result":"fed"}'
        assert.equal("fed", task:wait())
        task = koine.spawn(function() return select(2, peer:request "x") end)
        koine.sleep(0)
        peer:finish()
        assert.equal("connect", task:wait().kind)
      end)
    end)
  end)
end)
