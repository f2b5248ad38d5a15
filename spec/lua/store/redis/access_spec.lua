-- The engine on Redis on a real server: who is let in, and TLS.

local free_port = require "spec.support.free_port"
local koine = require "koine"
local redis = require "spec.lua.store.redis.server"

if redis.missing then
  describe("koine.store.redis", function() pending("lets in who may: " .. redis.missing) end)
  return
end

describe("who is let in", function()
  local SECRET = "a-secret-word"
  local server
  setup(function() server = redis.start("--appendonly no --requirepass " .. SECRET, SECRET) end)
  teardown(function() server:stop() end)

  local function fails(options)
    options.url = options.url or server.url
    local store <close> = koine.store.redis(options)
    local value, err = store:get "k"
    assert.is_nil(value)
    assert.is_nil(tostring(err):find(SECRET, 1, true))
    assert.is_nil(tostring(store):find(SECRET, 1, true))
    return err
  end

  it("needs the password, in the URL or as an option", function()
    assert.are.same({ "auth", "NOAUTH" }, { fails({}).kind, fails({}).code })
    assert.are.equal("auth", fails { password = "another one" }.kind)
    assert.are.equal("auth", fails { password = SECRET, user = "nobody" }.kind)
    assert.are.equal("auth", fails { url = ("redis://:%s-not@127.0.0.1:%d"):format(SECRET, server.port) }.kind)
    for _, options in ipairs { { password = SECRET }, { password = SECRET, user = "default" },
      { url = ("redis://:%s@127.0.0.1:%d"):format(SECRET, server.port) },
      { url = ("unix://default:%s@%s"):format(SECRET, server.socket) } } do
      options.url = options.url or server.url
      local store <close> = koine.store.redis(options)
      assert(store:put("k", "v"))
    end
  end)

  it("heeds an ACL: what is not allowed is permission", function()
    server:ask("ACL", "SETUSER", "reader", "on", ">" .. SECRET, "~{koine:}*", "&*", "+@read", "+auth", "+select")
    local err = fails { user = "reader", password = SECRET }
    assert.are.same({ "permission", "NOPERM" }, { err.kind, err.code })
    server:ask("ACL", "SETUSER", "worker", "on", ">" .. SECRET, "~{koine:}*", "&{koine:}w", "+@read", "+@write",
      "-@dangerous", "+evalsha", "+script|load", "+subscribe", "+time", "+publish") -- as docs/stores.md says
    local store <close> = koine.store.redis { url = server.url, user = "worker", password = SECRET }
    assert(store:put("k", "v"))
    assert(store:push("q", "i"))
    local queue, fence, items = assert(store:claim("o", 1))
    assert(store:ack(queue, "o", fence, items[1].seq))
    assert(store:unclaim(queue, "o", fence))
    assert(store:push("q", "i", { id = "m" }))
    assert(store:lease("l", "o", 1))
    assert(store:release("l", "o"))
    assert(store:take("b", 1, { capacity = 1, per = 1 }))
    assert(store:put("k", "v", { ttl = 1 }))
    assert(store:list "")
    assert.is_true(store:delete "k")
    assert.is_false(store:watch("", 0.01))
    local about = assert(store:describe()) -- neither INFO nor CONFIG
    assert.are.equal("unknown", about.version)
    assert.is_not_nil(about.warnings[1]:find "cannot be read")
    local foreign <close> = koine.store.redis { url = server.url, user = "worker", password = SECRET, prefix = "other" }
    assert.are.equal("permission", select(2, foreign:put("k", "v")).kind)
  end)
end)

describe("TLS", function()
  local folder, server
  local function sh(command)
    local ok = os.execute(("cd %s && { %s; } >/dev/null 2>&1"):format(folder, command))
    return ok
  end

  setup(function()
    local pipe <close> = assert(io.popen "mktemp -d")
    folder = pipe:read "l"
    assert(sh [[openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
      -addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem]])
  end)
  teardown(function() os.execute("rm -rf " .. folder) end)

  it("is spoken with rediss, and the certificate must be good for the name", function()
    local port = free_port()
    local options = ("--appendonly no --tls-port %d --tls-auth-clients no --tls-cert-file %s/cert.pem "):format(port,
      folder) .. ("--tls-key-file %s/key.pem"):format(folder)
    local ok
    ok, server = pcall(redis.start, options)
    if not ok then return pending "this redis-server has no TLS" end
    finally(function() server:stop() end)
    local store <close> = koine.store.redis { url = "rediss://localhost:" .. port, ca_file = folder .. "/cert.pem" }
    local value = ("\0v"):rep(1 << 20)
    assert(store:put("k", value))
    assert.is_true(store:get "k" == value)
    for _, case in ipairs { { url = "rediss://127.0.0.1:" .. port, ca_file = folder .. "/cert.pem" },
      { url = "rediss://localhost:" .. port } } do
      local bad <close> = koine.store.redis(case)
      local _, err = bad:get "k"
      assert.are.equal("connect", err.kind)
      assert.is_false(err.retryable)
    end
    local plain <close> = koine.store.redis { url = "redis://localhost:" .. port, timeout = 2 }
    local _, err = plain:get "k"
    assert.is_true(err.kind == "connect" or err.kind == "protocol" or err.kind == "timeout")
    local none <close> = koine.store.redis { url = "rediss://localhost:" .. server.port, timeout = 0.1 }
    _, err = none:get "k"
    assert.is_truthy(err.message:find("no TLS handshake within", 1, true), err.message)
  end)
end)
