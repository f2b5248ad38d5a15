-- Changes that a server tells of: in a session by itself, in the modern era to those who listen.

local defer = require "koine.task.defer"
local kit = require "spec.lua.protocol.mcp.kit"
local koine = require "koine"
local wait = require "koine.task.wait"

local SERVER = [[
  capabilities = { tools = { listChanged = true }, prompts = { listChanged = true }, resources = { subscribe = true } }
  local streams, n = {}, 0
  on["prompts/list"] = function()
    n = n + 1
    return { prompts = array { { name = "p" .. n } }, ttlMs = 60000 }
  end
  on["subscriptions/listen"] = function(params, request)
    local wanted, granted = params.notifications, {}
    granted.toolsListChanged, granted.resourceSubscriptions = wanted.toolsListChanged, wanted.resourceSubscriptions
    streams[#streams + 1] = { id = request.id, toolsListChanged = granted.toolsListChanged,
      resourceSubscriptions = granted.resourceSubscriptions }
    notify("notifications/subscriptions/acknowledged", { notifications = granted,
      _meta = { ["io.modelcontextprotocol/subscriptionId"] = request.id } })
  end
  on["resources/subscribe"] = function() return {} end
  local function tell(method, params, field)
    for _, stream in ipairs(streams) do
      params._meta = { ["io.modelcontextprotocol/subscriptionId"] = stream.id }
      if stream[field] then notify(method, params) end
    end
    if #streams == 0 then notify(method, params) end
  end
  function tools.change(arguments)
    for _, kind in ipairs(arguments.kinds or {}) do
      tell("notifications/" .. kind .. "/list_changed", {}, kind .. "ListChanged")
    end
    for _, uri in ipairs(arguments.uris or {}) do
      tell("notifications/resources/updated", { uri = uri }, "resourceSubscriptions")
    end
    return text ""
  end
  function tools.tell_last()
    notify("notifications/tools/list_changed",
      { _meta = { ["io.modelcontextprotocol/subscriptionId"] = streams[#streams].id } })
    return text ""
  end
  function tools.end_streams()
    for _, request in ipairs(streams) do answer(request, { resultType = "complete" }) end
    streams = {}
    return text ""
  end
  on["notifications/cancelled"] = function(params)
    for i = #streams, 1, -1 do
      if streams[i].id == params.requestId then table.remove(streams, i) end
    end
  end
]]

describe("a client", function()
  local client

  local function connect(opts)
    client = assert(kit.connect(SERVER, opts))
    return client
  end

  after_each(function()
    if client then client:close() end
    client = nil
  end)

  -- Starts a task that listens, and waits until the server agreed: the array of what it hears, what was granted, the
  -- task.
  local function listen(opts)
    local heard, opened = {}, {}
    opts.on_change = opts.on_change or function(kind, uri) heard[#heard + 1] = uri and kind .. " " .. uri or kind end
    opts.on_open = function(granted)
      opened[#opened + 1] = granted
      wait.wake(opened)
    end
    local task = koine.spawn(client.listen, client, opts)
    while not opened[1] do wait.park(opened) end
    return heard, opened, task
  end

  for name, loop in pairs(kit.all) do
    it("hears of changes in a session in " .. name, function()
      loop(function()
        local heard = {}
        connect { era = "legacy", on_change = function(kind, uri) heard[#heard + 1] = kind .. (uri or "") end }
        local before = assert(client:prompts())[1].name
        assert.equal(before, client:prompts()[1].name)
        assert(client:call("change", { kinds = { "tools", "prompts" }, uris = { "a:b" } }))
        assert(client:call "echo")
        assert.same({ "tools", "prompts", "resourcea:b" }, heard)
        assert.not_equal(before, client:prompts()[1].name)
        client:close()
      end)
    end)
  end

  it("raises what on_change raises, from the method that waits", function()
    connect { era = "legacy", on_change = function() error("no such change", 0) end }
    local ok, err
    repeat ok, err = pcall(client.call, client, "change", { kinds = { "tools" } }) until not ok
    assert.equal("no such change", err)
    assert(client:call "echo")
  end)

  for name, loop in pairs(kit.loops) do
    it("listens on two streams of one program in " .. name, function()
      loop(function()
        koine.run(function()
          connect()
          local tools, granted = listen { tools = true, prompts = true }
          local uris, granted_too, second = listen { uris = { "a:1", "a:2" } }
          assert.same({ tools = true, prompts = false, resources = false, uris = {} }, granted[1])
          assert.same({ tools = false, prompts = false, resources = false, uris = { "a:1", "a:2" } }, granted_too[1])
          assert(client:call("change", { uris = { "a:1" } }))
          assert(client:call("change", { kinds = { "tools" } }))
          assert(client:call("change", { uris = { "a:2" } }))
          koine.sleep(0)
          assert.same({ { "tools" }, { "resource a:1", "resource a:2" } }, { tools, uris })
          second:cancel()
          assert(client:call("change", { kinds = { "tools" }, uris = { "a:3" } }))
          koine.sleep(0)
          assert.same({ 2, 2 }, { #tools, #uris })
          client:close()
        end)
      end)
    end)
  end

  it("tells the listener alone whose stream a change came on", function()
    koine.run(function()
      connect()
      local first, second = listen { tools = true }, listen { tools = true }
      assert(client:call "tell_last")
      koine.sleep(0)
      assert.same({ {}, { "tools" } }, { first, second })
      client:close()
    end)
  end)

  it("hears of a change that comes often once, until it was told", function()
    koine.run(function()
      connect()
      local heard, go = {}, {}
      listen { tools = true, uris = { "a" }, on_change = function(kind, uri)
        heard[#heard + 1] = kind .. (uri or "")
        if #heard == 1 then wait.park(go) end
      end }
      local many = {}
      for i = 1, 50 do many[i] = i % 2 == 0 and "x" or "y" end
      assert(client:call("change", { kinds = { "tools" } }))
      koine.sleep(0)
      assert(client:call("change", { uris = many }))
      wait.wake(go)
      koine.sleep(0)
      table.sort(heard)
      assert.same({ "resourcex", "resourcey", "tools" }, heard)
      client:close()
    end)
  end)

  it("opens a stream again that ended, and takes all as changed", function()
    local slept, sleep = {}, wait.sleep
    wait.sleep = function(seconds) -- luacheck: ignore 122
      if seconds > 0 then slept[#slept + 1] = seconds end
      return sleep(0)
    end
    local _ <close> = defer(function() wait.sleep = sleep end) -- luacheck: ignore 122
    koine.run(function()
      connect()
      local heard, opened = listen { tools = true, uris = { "a:1" } }
      for i = 2, 3 do
        assert(client:call "end_streams")
        while not opened[i] do wait.park(opened) end
      end
      koine.sleep(0)
      assert.same({ "tools", "resource a:1", "tools", "resource a:1" }, heard)
      assert.same({ 1, 1 }, slept)
      client:call "die" -- the program is started again, too
      while not opened[4] do wait.park(opened) end
      assert(client:call "echo")
      client:close()
    end)
  end)

  it("follows resources in a session", function()
    koine.run(function()
      connect { era = "legacy" }
      local heard, opened = listen { prompts = true, resources = true, uris = { "a:1" } }
      assert.same({ tools = false, prompts = true, resources = false, uris = { "a:1" } }, opened[1])
      assert.equal("a:1", kit.heard_of(client, "resources/subscribe")[1].params.uri)
      assert(client:call("change", { kinds = { "prompts", "tools" }, uris = { "a:1" } }))
      assert(client:call "echo")
      koine.sleep(0)
      assert.same({ "prompts", "resource a:1" }, heard)
      client:close()
    end)
  end)

  it("is told that some resource changed where too many bytes of URIs wait", function()
    koine.run(function()
      connect()
      local uris = {}
      listen { uris = { "a" }, on_change = function(_, uri) uris[#uris + 1] = uri and #uri or "some" end }
      for i = 1, 5 do client.changes:changed("resource", { uri = ("x"):rep(3 << 20) .. i }) end
      while #uris < 3 do koine.sleep(0) end
      assert.same({ (3 << 20) + 1, (3 << 20) + 1, "some" }, uris)
      assert.equal(0, next(client.changes.listeners).bytes)
      client:close()
    end)
  end)

  it("ends to listen with the client, and where the server does not know how", function()
    koine.run(function()
      connect()
      local _, _, task = listen { tools = true }
      client:close()
      local _, err = task:wait()
      assert.equal("cancelled", err.kind)
    end)
    client = assert(kit.connect "")
    local _, err = client:listen { tools = true, on_change = print }
    assert.equal("not_found", err.kind)
    kit.raises("on_change", client.listen, client, { tools = true })
  end)

  it("raises what a listener's functions raise", function()
    connect()
    local ok, err = pcall(client.listen, client, { tools = true, on_change = print, on_open = function()
      error("not open", 0)
    end })
    assert.same({ false, "not open" }, { ok, (err:gsub("\n.*", "")) })
    assert(client:call "echo")
  end)
end)
