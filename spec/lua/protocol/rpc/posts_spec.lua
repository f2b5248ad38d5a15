-- Peers on a wire that takes each message by itself, as HTTP does.

local core = require "koine.core"
local errors = require "koine.data.errors"
local koine = require "koine"
local rpc = require "koine.protocol.rpc"
local wait = require "koine.task.wait"

describe("a peer whose wire posts", function()
  local peer, posted, ended

  -- A peer: answer(value, item) is what the wire does with a message; all of them are in `posted`.
  local function open(answer, opts)
    posted, ended = {}, 0
    peer = rpc.new({ post = function(_, text, item)
      local value = core.decode(text)
      posted[#posted + 1] = value
      local over <close> = setmetatable({}, { __close = function() ended = ended + 1 end }) -- luacheck: ignore over
      return answer(value, item)
    end }, opts)
  end

  after_each(function() peer:close() end)

  local function say(value) return peer:receive(core.encode(value)) end

  it("has several messages on their way, each with its own answer and error", function()
    open(function(value, item)
      wait.sleep(0)
      if item.about == "fails" then return nil, errors.new { kind = "connect", message = "gone", code = "x" } end
      if item.about == "raises" then error "it broke" end
      if item.about == "says nothing" then return false end
      return say { id = value.id, result = { method = item.method, about = item.about } }
    end)
    koine.run(function()
      local tasks, results = {}, {}
      for _, about in ipairs { "a", "fails", "raises", "says nothing", "b" } do
        tasks[#tasks + 1] = koine.spawn(function()
          local result, err = peer:request("m", {}, { about = about })
          results[about] = result and result.method .. " " .. result.about or err.kind .. " " .. err.message
        end)
      end
      for _, task in ipairs(tasks) do task:wait() end
      assert.are.same({ a = "m a", b = "m b", fails = "connect gone", raises = "other it broke",
        ["says nothing"] = "other not taken" }, results)
    end)
    assert.is_true(peer:settle(10))
  end)

  it("has a deadline for what tells that a call was left", function()
    local deadline, began
    open(function(value, item)
      if value.method == "cancel" then deadline = item.deadline return true end
      wait.park {}
    end, { cancel = function(id) return "cancel", { id = id } end })
    began = wait.now()
    assert.are.equal("timeout", select(2, peer:request("m", {}, { timeout = 0.01 })).kind)
    assert.is_true(peer:settle(10))
    assert.is_true(deadline > began + 1 and deadline < wait.now() + 60)
  end)

  it("does not let a slow message hold up another", function()
    local token = {}
    open(function(value)
      if value.method == "slow" then wait.park(token) end
      return say { id = value.id, result = {} }
    end)
    koine.run(function()
      local slow = koine.spawn(function() return peer:request("slow", {}) end)
      wait.sleep(0)
      assert(peer:request("quick", {}))
      assert.are.equal(1, ended)
      wait.wake(token)
      assert(slow:wait())
    end)
  end)

  it("ends the posting of a call that is left, and may tell of it", function()
    for _, told in ipairs { true, false } do
      open(function(value)
        if value.method == "slow" then wait.park {} end
        return true
      end, { cancel = function(id, method)
        if told then return "cancelled", { id, method } end
      end })
      assert.are.equal("timeout", select(2, peer:request("slow", {}, { timeout = 0.01 })).kind)
      assert.are.equal(told and 2 or 1, #posted)
      assert.are.equal(#posted, ended)
      assert.is_true(peer:settle(10))
    end
    assert.are.equal("timeout", select(2, peer:notify("slow", nil, { timeout = 0.01 })).kind)
    assert.is_true(peer:settle(10))
  end)

  it("waits until a notification is taken, and says why it was not", function()
    local taken = false
    open(function(value)
      if value.method == "bad" then return nil, errors.new { kind = "server", message = "no" } end
      wait.sleep(0)
      taken = true
      return true
    end)
    assert.is_true(peer:notify "good")
    assert.is_true(taken)
    assert.are.equal("no", select(2, peer:notify "bad").message)
    assert.is_true(peer:notify "good")
  end)

  it("posts its answers", function()
    open(function() return true end, { requests = { m = function(params) return params end } })
    say { id = 1, method = "m", params = { 1 } }
    assert.is_true(peer:settle(10))
    assert.are.same({ 1 }, { table.unpack(posted[1].result) })
  end)

  it("is told what is no message, and goes on after any number of these", function()
    open(function(value) return say { id = value.id, result = {} } end)
    for _ = 1, 200 do assert.are.equal("protocol", select(2, peer:receive "{").kind) end
    assert.are.equal("limit", select(2, peer:receive(("["):rep(1000))).kind)
    for _ = 1, 200 do assert.is_true(peer:receive "1") end
    assert.are.equal(401, peer.counts.stray)
    assert(peer:request "m")
  end)

  it("runs tasks of others, and hides secrets that come later", function()
    open(function(value) return say { id = value.id, error = { code = 1, message = "a fresh-secret" } } end)
    local ran = false
    peer:spawn(function() ran = true end)
    peer:hide "fresh-secret"
    peer:hide "fresh-secret"
    assert.are.equal("a [redacted]", select(2, peer:request "m").message)
    assert.is_true(ran)
    for i = 1, 20 do peer:hide("another-secret-" .. i) end
    assert.are.equal("a [redacted]", select(2, peer:request "m").message)
    for i = 1, 1000 do peer:hide("later-secret-" .. i) end
    assert.are.equal(256, #peer:secrets())
  end)

  it("hides the secrets that it was given, whatever comes later", function()
    local given = {}
    for i = 1, 20 do given[i] = ("given-secret-%02d"):format(i) end
    open(function(value) return say { id = value.id, error = { code = 1, message = table.concat(given, " ") } } end,
      { secrets = given })
    for i = 1, 300 do peer:hide("later-secret-" .. i) end
    assert.are.equal(("[redacted] "):rep(19) .. "[redacted]", select(2, peer:request "m").message)
  end)
end)
