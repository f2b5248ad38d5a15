-- What a peer holds of the other side's messages, in bytes.

local kit = require "spec.lua.protocol.rpc.kit"
local koine = require "koine"

describe("a peer", function()
  local peer, far

  local function open(opts) peer, far = kit.alone(opts) end

  after_each(function()
    if peer then peer:close() end
    peer = nil
  end)

  it("reads no more notifications where what waits is too large, of however many sessions", function()
    local taken = {}
    open { queue_bytes = 40000, notifications = { update = function(params) taken[#taken + 1] = params.n end },
      session = function(_, params) return params.session end }
    local large = ("x"):rep(15000)
    for i = 1, 10 do far.say { method = "update", params = { session = "s" .. i, n = i, text = large } } end
    far.say { id = 1, result = 1 }
    peer.shared:turn()
    assert.equal(11 - 3, #far.input.lines) -- two are kept, and one that was read waits for room
    assert.is_true(peer.inbox.bytes <= 40000)
    for i = 1, 10 do
      peer:take("s" .. i)
      peer.shared:turn()
    end
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, taken)
    assert.same({ 0, nil, nil }, { peer.inbox.bytes, peer.inbox.boxes.s1, peer.inbox.boxes.s10 })
  end)

  it("takes one that is larger than all room alone", function()
    local taken = {}
    open { queue_bytes = 1000, notifications = { update = function(params) taken[#taken + 1] = params.n end },
      session = function() return "a" end }
    for i = 1, 3 do far.say { method = "update", params = { n = i, text = ("x"):rep(5000) } } end
    far.say { id = 1, result = 1 }
    peer.shared:turn()
    assert.equal(2, #far.input.lines)
    peer:drop "a"
    assert.equal(1, peer:request("m", nil, { session = "a" }))
    assert.same({ { 2, 3 }, 0 }, { taken, peer.inbox.bytes })
  end)

  it("keeps progress that nobody takes as far as there is room", function()
    local told = {}
    open { progress = function() return 1 end }
    local large = ("x"):rep(3 << 20)
    local ok = koine.run(function()
      local task = koine.spawn(function()
        return peer:request("m", nil, { on_progress = function(params)
          told[#told + 1] = params.n
        end })
      end)
      koine.sleep(0)
      for i = 1, 5 do far.say { method = "progress", params = { n = i, text = large } } end
      far.say { id = 1, result = "end" }
      return task:wait()
    end)
    assert.equal("end", ok)
    assert.same({ { 1, 2 }, 3 }, { told, peer.counts.dropped })
  end)

  it("refuses requests that are too large together with those that run", function()
    local gate = {}
    open { handlers_bytes = 40000, requests = { m = function(params)
      while not gate.open do koine.park(gate) end
      return params.n
    end } }
    local large = ("x"):rep(15000)
    for i = 1, 4 do far.say { id = i, method = "m", params = { n = i, text = large } } end
    far.say { id = 5, method = "m", params = { n = 5 } }
    peer.shared:turn()
    local said = far.heard()
    assert.same({ 3, -32000, 4, -32000, 2 }, { said[1].id, said[1].error.code, said[2].id, said[2].error.code, #said })
    gate.open = true
    koine.wake(gate)
    assert.is_true(peer:settle(kit.SAFETY))
    far.heard()
    far.say { id = 6, method = "m", params = { n = 6, text = ("x"):rep(50000) } } -- alone it may be larger
    peer.shared:turn()
    assert.equal(6, far.heard()[1].result)
    assert.same({ 0, 0 }, { peer.served.count, peer.served.bytes })
  end)
end)
