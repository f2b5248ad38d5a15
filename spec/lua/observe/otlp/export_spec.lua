-- The exporter against a collector on loopback: what it posts, what it makes of answers, and when it sends.

local core = require "koine.core"
local koine = require "koine"
local new_queue = require "koine.observe.otlp.queue"
local observer = require "koine.data.observer"
local peers = require "spec.lua.net.peers"
local raw_server = require "spec.support.raw_server"
local receiver = require "spec.lua.observe.otlp.receiver"
local socket = require "socket"
local zlib = require "zlib"

local TAKEN <const> = raw_server.answer(200, "{}")

-- An answer with one more header.
local function with_header(answer, header) return (answer:gsub("\r\n", "\r\n" .. header .. "\r\n", 1)) end

-- A listening socket that nobody serves, for <close>.
local function closing(listener)
  listener:settimeout(0)
  return setmetatable({ socket = listener }, { __close = function() listener:close() end })
end

local function exporter(url, more)
  local given = { endpoint = url, service = "spec", timeout = 5, interval = 60 }
  for name, value in pairs(more or {}) do given[name] = value end
  return koine.observe.otlp(given)
end

-- Tells an observer of an agent's run with n chats in it.
local function tell(otlp, n)
  local hook = observer.option(otlp, "observer")
  local agent = observer.start(hook, nil, "agent", { name = "planner" })
  for _ = 1, (n or 1) do
    observer.start(nil, agent:context(), "chat", { provider = "openai", model = "m" }):finish { attempts = 1 }
  end
  agent:finish { status = "done" }
end

-- The spans of a request, judged.
local function spans_of(request)
  assert.are.equal("/v1/traces", request.target)
  assert.is_truthy(request.head:lower():find("content-type: application/json", 1, true))
  return receiver.spans { request.body }
end

describe("koine.observe.otlp", function()
  it("posts what a collector takes, in plain Lua at flush", function()
    local server = raw_server.start(TAKEN)
    local otlp <close> = exporter(server.url, { headers = { ["x-api-key"] = "secret-value" },
      resource = { ["deployment.environment.name"] = "test" } })
    tell(otlp)
    assert.are.same({ sent = 0, rejected = 0, dropped = 0, failed = 0, queued = 2 }, otlp:counts())
    assert(otlp:flush())
    local request = server:requests()[1]
    local spans = spans_of(request)
    assert.are.same({ "chat m", "invoke_agent planner" }, { spans[1].name, spans[2].name })
    assert.is_truthy(request.head:lower():find("x-api-key: secret-value", 1, true))
    assert.is_truthy(request.body:find('{"key":"service.name","value":{"stringValue":"spec"}}', 1, true))
    assert.are.same({ sent = 2, rejected = 0, dropped = 0, failed = 0, queued = 0 }, otlp:counts())
  end)

  it("posts gzip where it is asked to", function()
    local server = raw_server.start(TAKEN)
    local otlp <close> = exporter(server.url, { compression = "gzip" })
    tell(otlp)
    assert(otlp:flush())
    local request = server:requests()[1]
    assert.is_truthy(request.head:lower():find("content-encoding: gzip", 1, true))
    local plain, ended = zlib.inflate()(request.body)
    assert.is_true(ended)
    assert.are.equal(2, #receiver.spans { plain })
  end)

  it("names the package that gzip takes, where that is missing", function()
    local path, cpath, loaded = package.path, package.cpath, package.loaded.zlib
    package.path, package.cpath, package.loaded.zlib = "./lua/?.lua;./lua/?/init.lua", "", nil
    finally(function() package.path, package.cpath, package.loaded.zlib = path, cpath, loaded end)
    local ok, err = pcall(exporter, "http://127.0.0.1:1", { compression = "gzip" })
    assert.is_false(ok)
    assert.are.equal("compression", err.field)
    assert.is_truthy(err.message:find("lua-zlib", 1, true))
    assert.is_false(pcall(exporter, "http://127.0.0.1:1", { compression = "zstd" }))
  end)

  it("divides what waits into batches", function()
    local server = raw_server.start(TAKEN, TAKEN)
    local otlp <close> = exporter(server.url, { batch = 2 })
    tell(otlp, 2)
    assert(otlp:flush())
    local bodies = server:requests()
    assert.is_truthy(bodies[1].body:find('"name":"chat m"', 1, true))
    assert.is_truthy(bodies[2].body:find('"name":"invoke_agent planner"', 1, true))
  end)

  it("asks a busy collector again, when that says so", function()
    local answers = {}
    for i, status in ipairs { 429, 502, 503, 504 } do
      answers[i] = with_header(raw_server.answer(status, ""), "retry-after: 0")
    end
    answers[5] = TAKEN
    local server = raw_server.start(table.unpack(answers))
    local otlp <close> = exporter(server.url)
    tell(otlp)
    assert(otlp:flush())
    local requests = server:requests()
    for i = 2, 5 do assert.are.equal(requests[1].body, requests[i].body) end
    assert.are.same({ sent = 2, rejected = 0, dropped = 0, failed = 4, queued = 0 }, otlp:counts())
  end)

  it("keeps for later what a collector wants later than the time allows", function()
    local server = raw_server.start(with_header(raw_server.answer(429, ""), "retry-after: 60"))
    local otlp = exporter(server.url)
    tell(otlp)
    local began = core.monotonic()
    local ok, err = otlp:flush()
    assert.is_nil(ok)
    assert.are.equal("rate_limit", err.kind)
    assert.are.equal(2, otlp:counts().queued)
    assert.is_nil((otlp:close()))
    assert.is_true(core.monotonic() - began < 4)
    assert.are.same({ sent = 0, rejected = 0, dropped = 2, failed = 1, queued = 0 }, otlp:counts())
    server:requests()
  end)

  it("drops and counts what is refused, in whole or in part", function()
    local partial = raw_server.answer(200, '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}')
    local server = raw_server.start(raw_server.answer(400, '{"message":"no"}'), partial)
    local otlp <close> = exporter(server.url)
    tell(otlp)
    local ok, err = otlp:flush()
    assert.is_nil(ok)
    assert.are.equal(400, err.status_code)
    tell(otlp)
    assert(otlp:flush())
    assert.are.same({ sent = 1, rejected = 1, dropped = 2, failed = 1, queued = 0 }, otlp:counts())
    server:requests()
  end)

  it("loses the newest of what a dead collector does not take, in bounded time", function()
    local otlp = exporter("http://127.0.0.1:1", { queue = 3, timeout = 0.2 })
    tell(otlp, 9)
    assert.are.same({ sent = 0, rejected = 0, dropped = 7, failed = 0, queued = 3 }, otlp:counts())
    local ok, err = otlp:close()
    assert.is_nil(ok)
    assert.are.equal("connect", err.code)
    assert.are.equal(10, otlp:counts().dropped)
    tell(otlp)
    assert.are.equal(12, otlp:counts().dropped)
    assert.is_true(otlp:close())
  end)

  it("sends at close what is not over", function()
    local server = raw_server.start(TAKEN)
    local otlp = exporter(server.url)
    local span <close> = observer.start(observer.option(otlp, "observer"), nil, "chat", { model = "m" })
    assert(otlp:close())
    local spans = spans_of(server:requests()[1])
    assert.are.equal(2, spans[1].status.code)
    assert.are.equal("koine.open", spans[1].attributes[#spans[1].attributes].key)
    span:finish()
  end)

  it("sends in a task of a run, as soon as a batch is there", function()
    local server = raw_server.start(TAKEN)
    local otlp <close> = exporter(server.url, { batch = 2 })
    koine.run(function()
      tell(otlp)
      while otlp:counts().sent == 0 do koine.sleep(0.005) end
    end)
    assert.are.equal(2, #spans_of(server:requests()[1]))
  end)

  it("does not hold a run up, and sends the rest at flush", function()
    local server = raw_server.start(TAKEN)
    local otlp <close> = exporter(server.url)
    koine.run(function() koine.run(function() tell(otlp) end) end)
    assert.are.equal(2, otlp:counts().queued)
    koine.run(function() assert(otlp:flush()) end)
    assert.are.equal(2, #spans_of(server:requests()[1]))
  end)

  it("costs a program no time where the collector never answers, and bounded memory", function()
    local silent <close> = closing(assert(socket.bind("127.0.0.1", 0)))
    local port = select(2, silent.socket:getsockname())
    local otlp = exporter("http://127.0.0.1:" .. port, { batch = 2, queue = 100, timeout = 60 })
    local began = core.monotonic()
    koine.run(function()
      for _ = 1, 200 do
        tell(otlp)
        koine.sleep(0)
      end
      while silent.socket:accept() == nil do koine.sleep(0.001) end -- a request is under way
    end)
    assert.is_true(core.monotonic() - began < 5)
    assert.are.same({ sent = 0, rejected = 0, dropped = 300, failed = 0, queued = 100 }, otlp:counts())
    otlp.timeout = 0.05
    local ok, err = otlp:close()
    assert.is_nil(ok)
    assert.are.equal("timeout", err.kind)
    assert.is_true(core.monotonic() - began < 5)
    assert.are.same({ 400, 0 }, { otlp:counts().dropped, otlp:counts().queued })
  end)

  it("keeps a bounded number of bytes", function()
    local queue, text = new_queue(1000), ("x"):rep(1 << 20)
    local n = 0
    while queue:push(text) do n = n + 1 end
    assert.are.equal(32, n)
    assert.are.equal(4, select(2, queue:batch(1000)))
    queue:drop(1)
    assert.is_true(queue:push(text))
  end)

  for name, loop in pairs(peers.loops()) do
    it("sends at flush in " .. name .. ", once for several that wait", function()
      local server = raw_server.start(TAKEN)
      local otlp <close> = exporter(server.url)
      local function flush() assert(otlp:flush()) end
      loop(function()
        tell(otlp)
        flush()
      end, flush, flush)
      assert.are.same({ 2, 0 }, { otlp:counts().sent, otlp:counts().failed })
      assert.are.equal(2, #spans_of(server:requests()[1]))
    end)
  end

  it("captures content where its options say so", function()
    local seen = observer.option(exporter("http://127.0.0.1:1", { content = true }), "observer")
    assert.is_true(seen.content.messages)
    assert.is_false(observer.option(exporter "http://127.0.0.1:1", "observer").content)
  end)

  it("shows no credential in errors", function()
    local server = raw_server.start(raw_server.answer(400, '{"message":"no such key: topsecret-1"}'))
    local otlp <close> = exporter(server.url, { headers = { authorization = "Bearer topsecret-1" } })
    tell(otlp)
    local err = select(2, otlp:flush())
    assert.is_truthy(err.message:find("no such key: %[%l+%]"), err.message)
    assert.is_nil(core.encode(err.raw or ""):find("topsecret", 1, true))
    server:requests()
    local away <close> = exporter("http://user:topsecret-2@127.0.0.1:1", { timeout = 0.1 })
    tell(away)
    assert.is_nil(tostring(select(2, away:flush())):find("topsecret", 1, true))
  end)

  it("says in errors which collector answered what, and which could not be reached", function()
    local server = raw_server.start(raw_server.answer(400, "{}"))
    local otlp <close> = exporter(server.url .. "/in")
    tell(otlp)
    local _, err = otlp:flush()
    assert.are.equal(("otlp: %s/in/v1/traces answered 400: {}"):format(server.url), err.message)
    server:requests()
    local away <close> = exporter("http://user:topsecret-2@127.0.0.1:1", { timeout = 0.1 })
    tell(away)
    _, err = away:flush()
    assert.are.equal("otlp: http://127.0.0.1:1/v1/traces: ", err.message:match "^otlp: %S+: ")
  end)

  it("refuses unfit options, and shows no password", function()
    for field, given in pairs { endpoint = { endpoint = "localhost" }, batch = { batch = 0 },
      timeout = { timeout = 0 }, ["headers.authorization"] = { headers = { authorization = "a\nb" } },
      headers = { headers = { ["bad name"] = "x" } },
      ["headers.content-length"] = { headers = { ["Content-Length"] = "3" } },
      traces = { traces = false } } do
      local ok, err = pcall(koine.observe.otlp, given)
      assert.is_false(ok)
      assert.are.equal(field, err.field)
    end
    assert.are.equal("koine.observe.otlp (http://h:1/v1/traces)", tostring(exporter "http://u:p@h:1"))
  end)
end)
