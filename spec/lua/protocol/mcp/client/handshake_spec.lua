-- How a client and a server agree on an era and a version: the table of answers, and real programs.

local core = require "koine.core"
local era = require "koine.protocol.mcp.client.era"
local errors = require "koine.data.errors"
local kit = require "spec.lua.protocol.mcp.kit"
local koine = require "koine"

local NEWEST = "2026-07-28"

local function answer_of(code, data, status)
  return errors.new { kind = "server", code = code, data = data, status_code = status, message = "no" }
end

describe("the era of a server", function()
  local function versions(...) return { supportedVersions = core.array { ... } } end

  it("follows from the versions that it lists", function()
    assert.same({ "modern", NEWEST }, { era.of_answer(versions(NEWEST)) })
    assert.same({ "modern", NEWEST }, { era.of_answer(versions("2027-01-01", NEWEST, "2025-11-25")) })
    assert.same({ "legacy" }, { era.of_answer(versions("2027-01-01", "2025-06-18")) })
    local name, err = era.of_answer(versions("2027-01-01", "2028-01-01"))
    assert.is_nil(name)
    assert.equal("protocol", err.kind)
    assert.truthy(err.message:find("2027-01-01, 2028-01-01", 1, true) and err.message:find(NEWEST, 1, true))
    assert.equal("protocol", select(2, era.of_answer(versions())).kind)
  end)

  it("follows from the versions of a refusal", function()
    local function refusal(version) return answer_of("-32022", { supported = core.array { version } }) end
    assert.same({ "modern", NEWEST }, { era.of_answer(nil, refusal(NEWEST)) })
    assert.same({ "legacy" }, { era.of_answer(nil, refusal "2025-03-26") })
    assert.equal("protocol", select(2, era.of_answer(nil, refusal "x")).kind)
    assert.equal("legacy", era.of_answer(nil, answer_of "-32022"))
  end)

  it("is the legacy one after any other error that the server answers", function()
    for _, code in ipairs { "-32601", "-32600", "-32602", "-32603", "-32700", "-32000", "-32020", "-32021", "1" } do
      assert.equal("legacy", era.of_answer(nil, answer_of(code)))
    end
    assert.equal("legacy", era.of_answer(nil, errors.new { kind = "protocol", message = "malformed" }))
    assert.equal("legacy", era.of_answer {})
  end)

  it("is unknown after trouble of the connection", function()
    for _, kind in ipairs { "connect", "timeout", "cancelled", "stream_truncated", "limit" } do
      local err = errors.new { kind = kind, message = "trouble" }
      assert.same({ nil, err }, { era.of_answer(nil, err) })
    end
  end)

  it("follows from the statuses of HTTP", function()
    for _, status in ipairs { 400, 404, 405 } do
      for _, code in ipairs { "-32020", "-32021", "-32022" } do
        assert.equal("modern", era.of_answer(nil, answer_of(code, nil, status)))
      end
      assert.equal("legacy", era.of_answer(nil, answer_of("-32000", nil, status)))
      assert.equal("legacy", era.of_answer(nil, answer_of(nil, nil, status)))
    end
    for _, status in ipairs { 401, 403, 429, 500, 503 } do
      assert.is_nil(era.of_answer(nil, answer_of("-32000", nil, status)))
    end
    assert.equal("legacy", era.of_answer(nil, answer_of("-32601", nil, 200)))
  end)
end)

describe("a client", function()
  local client

  after_each(function()
    if client then client:close() end
    client = nil
  end)

  local function connect(script, opts)
    client = assert(kit.connect(script, opts))
    return client
  end

  local function refused(script, opts)
    local made, err = kit.connect(script, opts)
    assert.is_nil(made)
    return err
  end

  -- The methods that the server heard.
  local function methods()
    local list = {}
    for i, message in ipairs(kit.heard(client)) do list[i] = message.method end
    return list
  end

  for name, loop in pairs(kit.all) do
    it("speaks with a server of either era in " .. name, function()
      loop(function()
        connect ""
        assert.same({ "modern", NEWEST, "fake", "Be kind." },
          { client.era, client.version, client.server.name, client.instructions })
        assert.same({ "server/discover", "tools/call" }, methods())
        client:close()
        connect "modern = false"
        assert.same({ "legacy", "2025-11-25", "fake", "Be kind." },
          { client.era, client.version, client.server.name, client.instructions })
        assert.same({ "server/discover", "initialize", "notifications/initialized", "tools/call" }, methods())
        client:close()
      end)
    end)

    it("sends initialize behind a probe that stays silent in " .. name, function()
      loop(function()
        connect("on['server/discover'] = function() end", { probe_timeout = 0.05 })
        assert.equal("legacy", client.era)
        assert.same({ "server/discover", "initialize", "notifications/initialized", "tools/call" }, methods())
        client:close()
      end)
    end)
  end

  it("takes the late answer to the probe, where initialize is refused", function()
    connect([[
      legacy = false
      local probe = hear()
      local begin = hear()
      fail(begin, -32022, "no", { supported = array { "2026-07-28" } })
      answer(probe, on["server/discover"]())
    ]], { probe_timeout = 0.05 })
    assert.same({ "modern", NEWEST }, { client.era, client.version })
  end)

  it("takes the late answer to the probe, where initialize is not answered", function()
    connect([[
      local probe = hear()
      hear()
      answer(probe, on["server/discover"]())
    ]], { probe_timeout = 0.05 })
    assert.same({ "modern", NEWEST, "fake" }, { client.era, client.version, client.server.name })
  end)

  it("is in a session where both are answered, whatever comes first", function()
    for _, order in ipairs { "answer(probe, modern); answer(begin, legacy)",
      "answer(begin, legacy); answer(probe, modern)", "fail(probe, -32601); answer(begin, legacy)" } do
      connect([[
        local probe = hear()
        local begin = hear()
        local modern, legacy = on["server/discover"](), on.initialize(begin.params)
        ]] .. order, { probe_timeout = 0.05 })
      assert.equal("legacy", client.era, order)
      assert.equal("{}", kit.text_of(assert(client:call("echo", {}))))
      client:close()
    end
  end)

  it("fails where neither is answered in time, and leaves no program", function()
    local err = refused("while hear() do end", { probe_timeout = 0.02, timeout = { connect = 0.1 } })
    assert.same({ "timeout", "ConnectionError" }, { err.kind, err.class })
  end)

  it("takes a version that both know, or says which there are", function()
    connect "versions = { '2099-01-01', '2026-07-28' }"
    assert.equal(NEWEST, client.version)
    client:close()
    connect "versions = { '2099-01-01', '2025-06-18' }; version = '2025-06-18'"
    assert.same({ "legacy", "2025-06-18" }, { client.era, client.version })
    client:close()
    for _, version in ipairs { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" } do
      connect(("modern = false; version = %q"):format(version))
      assert.equal(version, client.version)
      client:close()
    end
    local err = refused "modern = false; version = '2099-01-01'"
    assert.equal("protocol", err.kind)
    assert.truthy(err.message:find("2099-01-01", 1, true) and err.message:find("2025-11-25", 1, true), err.message)
    err = refused "versions = { '2099-01-01' }"
    assert.equal("protocol", err.kind)
  end)

  it("does not probe where the era is given", function()
    connect("", { era = "legacy" })
    assert.same({ "initialize", "notifications/initialized", "tools/call" }, methods())
    client:close()
    connect("", { era = "modern" })
    assert.same({ "tools/call" }, methods())
    assert.same({ "modern", NEWEST }, { client.era, client.version })
  end)

  it("answers only pings before the session", function()
    connect [[
      modern = false
      function on.initialize(params)
        local pong, other = ask("ping"), ask("roots/list")
        log(core.encode { pong.result, other.error.code })
        return { protocolVersion = params.protocolVersion, capabilities = {} }
      end
    ]]
    assert.equal("[{},-32601]", client.connection.transport:tail())
  end)

  it("says in each request of the modern era who it is", function()
    connect ""
    local call = kit.heard_of(client, "tools/call")[1]
    local meta = call.params._meta
    assert.equal(NEWEST, meta["io.modelcontextprotocol/protocolVersion"])
    assert.same({ name = "koine", version = koine.version }, meta["io.modelcontextprotocol/clientInfo"])
    assert.same({}, meta["io.modelcontextprotocol/clientCapabilities"])
    assert.equal(tostring(call.id), meta.progressToken)
    client:close()
    connect("", { era = "legacy" })
    call = kit.heard_of(client, "tools/call")[1]
    assert.same({ progressToken = tostring(call.id) }, call.params._meta)
  end)

  it("hears a banner before the first message, and no other protocol", function()
    connect "say 'Welcome!\\n{ not json\\n'"
    assert.equal("modern", client.era)
    client:close()
    local err = refused "for i = 1, 200 do say 'HTTP/1.1 200 OK' end"
    assert.truthy(err.message:find("HTTP/1.1 200 OK", 1, true), err.message)
  end)

  it("fails with the last words of a program that ends at once, or is none", function()
    local err = refused "log 'no configuration'; os.exit(3)"
    assert.same({ "connect", "ConnectionError", false }, { err.kind, err.class, err.retryable })
    assert.equal("fake: the server ended (exit code 3): no configuration", err.message)
    err = refused "local function go() error('no key: set MAIL_KEY', 0) end go()"
    assert.is_truthy(err.message:find "^fake: the server ended %(exit code 1%): .*no key: set MAIL_KEY$", err.message)
    err = refused("", { command = "no-such-program" })
    assert.same({ "connect", "absent" }, { err.kind, err.code })
  end)
end)
