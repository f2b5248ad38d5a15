-- What a peer makes of notifications: queues of sessions, progress, handlers that raise.

local kit = require "spec.lua.protocol.rpc.kit"
local koine = require "koine"

describe("a peer", function()
  local peer, far

  local function open(opts, max) peer, far = kit.alone(opts, max) end

  after_each(function()
    if peer then peer:close() end
    peer = nil
  end)

  describe("is notified", function()
    local taken

    local function sessions(max)
      taken = {}
      open { queue_max = max, notifications = {
        update = function(params) taken[#taken + 1] = params.n end,
        log = function(params) taken[#taken + 1] = params.text end,
      }, session = function(_, params) return params and params.session end }
    end

    it("in order, before the answer, by who waits for that session", function()
      sessions()
      for i = 1, 100 do far.say { method = "update", params = { session = "a", n = i } } end
      for i = 1, 100 do far.say { method = "update", params = { session = "b", n = -i } } end
      far.say { id = 1, result = "end" }
      assert.equal("end", peer:request("turn", {}, { session = "a" }))
      local expected = {}
      for i = 1, 100 do expected[i] = i end
      assert.same(expected, taken)
      taken = {}
      peer:take "b"
      assert.same({ -1, -100, 100 }, { taken[1], taken[100], #taken })
      assert.same({ nil, nil }, { peer.inbox.boxes.a, peer.inbox.boxes.b })
    end)

    it("without a session, in order, as it comes", function()
      sessions()
      for i = 1, 5 do far.say { method = "log", params = { text = i } } end
      far.say { method = "nothing", params = {} }
      far.say { method = "log" }
      far.say { id = 1, result = 1 }
      assert(peer:request "m")
      assert.same({ 1, 2, 3, 4, 5 }, taken)
      assert.same({ 1, 1 }, { peer.counts.unknown, peer.counts.raised })
    end)

    it("until the queue is full, then reading pauses", function()
      sessions(10)
      for i = 1, 50 do far.say { method = "update", params = { session = "a", n = i } } end
      far.say { id = 1, result = 1 }
      peer.shared:turn()
      assert.equal(51 - 11, #far.input.lines) -- the one that waits for room was read
      assert.equal("timeout", select(2, peer:request("m", nil, { timeout = 0.01 })).kind)
      assert.same({}, taken)
      far.say { id = 2, result = 2 }
      assert.equal(2, peer:request("m", nil, { session = "a" }))
      assert.equal(50, #taken)
    end)

    it("and what a handler raises is raised by who waits; the next one goes on", function()
      sessions()
      peer.options.notifications.update = function(params)
        if params.n == 2 then error("no", 0) end
        taken[#taken + 1] = params.n
      end
      for i = 1, 3 do far.say { method = "update", params = { session = "a", n = i } } end
      assert.same({ false, "no" }, { pcall(peer.request, peer, "m", nil, { session = "a" }) })
      far.say { id = 2, result = 1 }
      assert.equal(1, peer:request("m", nil, { session = "a" }))
      assert.same({ 1, 3 }, taken)
    end)

    it("and counts functions of the protocol above that raise", function()
      local heard = 0
      open { notifications = { m = function() heard = heard + 1 end }, session = function() error "no" end,
        progress = function() error "no" end }
      far.say { method = "m" }
      far.say { id = 1, result = 1 }
      assert(peer:request "x")
      assert.same({ 1, 2 }, { heard, peer.counts.raised })
    end)

    it("and a session may be dropped", function()
      sessions(10)
      for i = 1, 12 do far.say { method = "update", params = { session = "a", n = i } } end
      peer.shared:turn()
      peer:drop "a"
      far.say { id = 1, result = 1 }
      assert.equal(1, peer:request "m")
      peer:take "a"
      assert.same({ 11, 12 }, taken)
    end)

    it("of progress, before the answer, which keeps a call alive", function()
      local told = {}
      open { progress = function(method, params) return method == "progress" and params.token or nil end }
      koine.run(function()
        local task = koine.spawn(function()
          return peer:request("m", nil, { idle = 0.2, on_progress = function(p) told[#told + 1] = p.n end })
        end)
        for i = 1, 10 do
          koine.sleep(0.04)
          far.say { method = "progress", params = { token = "1", n = i } }
        end
        far.say { method = "progress" }
        far.say { method = "progress", params = { token = "9" } }
        far.say { id = 1, result = "end" }
        assert.equal("end", task:wait())
      end)
      assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, told)
      assert.same({ 1, 1, 1 }, { peer.counts.late, peer.counts.unknown, peer.counts.raised })
      local _, err = peer:request("m", nil, { idle = 0.01, timeout = kit.SAFETY })
      assert.same({ "timeout", "idle" }, { err.kind, err.code })
    end)
  end)
end)
