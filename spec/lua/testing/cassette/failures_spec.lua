-- Cassettes: what failed while it was recorded. Only the mode `record` writes that, as every later run would get it;
-- and what is played says so.

local core = require "koine.core"
local http = require "koine.net.http"
local kit = require "spec.lua.testing.cassette.kit"
local koine = require "koine"
local mcp_kit = require "spec.lua.protocol.mcp.kit"
local raised = require "spec.support.raised"
local served = require "spec.lua.net.served"

local REFUSED = '{"type":"error","error":{"type":"authentication_error","message":"bad key"}}'
local GOOGLE = '{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":'
  .. '[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}'

local function reset(conn) conn:reset() end

-- Refuses the credentials, and ends within the body.
local function cut(conn) conn:send((served.answer(401, REFUSED):gsub("bad key.*$", "bad"))) end

-- Sends the calls, one after the other, beside a server that answers so: finish's results.
local function record(mode, answers, calls, options)
  options = options or {}
  options.mode = mode
  local ok, err
  kit.serve(answers, function(url)
    local tape = kit.open(options)
    for _, call in ipairs(calls) do
      local one = { url = url .. (call.path or "/"), transport = tape }
      for name, value in pairs(call) do one[name] = name ~= "path" and value or nil end
      http.send(one)
    end
    ok, err = tape:finish()
  end)
  return ok, err
end

local POST = { method = "POST", body = '{"a":1}', headers = { authorization = "Bearer abcdefghij" } }

describe("a provider that could not be asked", function()
  before_each(kit.begin)
  after_each(kit.restore)

  it("is not written but in the mode record: no connection, and no answer", function()
    for _, mode in ipairs { "auto", "extend" } do
      local tape = kit.open { mode = mode }
      local _, err = kit.claude(tape, { base_url = "http://127.0.0.1:1" }):chat "Hi."
      assert.are.equal("connect", err.kind)
      local ok, problem = tape:finish()
      assert.is_nil(ok)
      assert.are.equal("cassette", problem.code)
      for _, words in ipairs { kit.path .. ": not written: POST http://127.0.0.1:1/v1/messages got no answer (",
        err.message, "KOINE_CASSETTE=record keeps it" } do
        assert.is_truthy(problem.message:find(words, 1, true), problem.message)
      end
      assert.is_nil((record(mode, { reset }, { POST })))
      assert.is_nil(kit.text())
    end
    assert(record("record", { reset }, { POST }))
    assert.are.equal("connect", kit.read().exchanges[1].response.error.kind)
  end)

  it("is not written but in the mode record: credentials that were refused", function()
    for _, answer in ipairs { served.answer(401, REFUSED), served.answer(403, "{}"), served.answer(400, GOOGLE),
      served.answer(401, "\255"), cut } do
      for _, mode in ipairs { "auto", "extend" } do
        local ok, err = record(mode, { answer }, { POST })
        assert.is_nil(ok)
        assert.is_truthy(err.message:find "/ was refused with status 40%d %(", err.message)
        assert.is_nil(kit.text())
      end
      assert(record("record", { answer }, { POST }))
      os.remove(kit.path)
    end
    assert.is_nil((record("auto", { served.answer(401, REFUSED) }, { { method = "POST", body = "{}" } }))) -- no key
  end)

  it("leaves the old file of the mode extend", function()
    kit.write { kit.exchange("Hi.", kit.response "Hello") }
    local old = kit.text()
    assert.is_nil((record("extend", { served.answer(200, "{}"), served.answer(401, REFUSED) },
      { POST, { url = nil, method = "POST", body = "{}", secrets = { "abcdefghij" } } })))
    assert.are.equal(old, kit.text())
  end)

  it("is written where an equal request went better later", function()
    local good = served.answer(200, "{}")
    assert(record("auto", { reset, good }, { POST, POST }))
    assert.are.equal(2, #kit.read().exchanges)
    os.remove(kit.path)
    assert(record("auto", { served.answer(401, REFUSED), good }, { POST, POST }))
    os.remove(kit.path)
    assert.is_nil((record("auto", { good, reset }, { POST, POST })))
    assert.is_nil((record("auto", { reset, good }, { POST, { method = "POST", body = '{"a":2}' } })))
    assert.is_nil((record("auto", { reset, served.answer(401, REFUSED) }, { POST, POST })))
  end)

  it("is written where the answer is a provider's, or nothing was to be refused", function()
    for _, status in ipairs { 400, 404, 429, 500, 529 } do
      assert(record("auto", { served.answer(status, "{}") }, { POST }))
      os.remove(kit.path)
    end
    assert(record("auto", { served.answer(401, "{}") }, { { path = "/.well-known/oauth-protected-resource" } }))
    os.remove(kit.path)
    assert.is_nil((record("auto", { served.answer(401, "{}") }, { { headers = POST.headers } })))
    assert.is_nil((record("auto", { served.answer(401, "{}") }, { { secrets = { "abcdefghij" } } })))
  end)
end)

describe("a failure that is played", function()
  before_each(kit.begin)
  after_each(kit.restore)

  it("names the cassette: in its words where there is no answer, else in a header", function()
    assert(record("record", { reset, served.answer(401, REFUSED) }, { POST, { path = "/b" } }))
    local exchanges = kit.read().exchanges
    local tape = kit.open { mode = "replay" }
    local _, err = http.send { url = exchanges[1].request.url, method = "POST", body = POST.body, transport = tape }
    local words = ("played by cassette %s (exchanges[1]): "):format(kit.path)
    assert.are.same({ "connect", words .. exchanges[1].response.error.message }, { err.kind, err.message })
    local answer = assert(http.send { url = exchanges[2].request.url, transport = tape })
    assert.are.same({ 401, REFUSED, kit.path .. " exchanges[2]" },
      { answer.status, answer.body, answer.headers["koine-cassette"] })
    assert(tape:finish())
  end)

  it("is one that its reader left before there was an answer", function()
    local base
    kit.serve({ function(conn) conn:hang() end }, function(url)
      base = url
      local tape = kit.open()
      local _, err = koine.timeout(0.05, function() return kit.claude(tape, { base_url = url }):chat "Hi." end)
      assert.are.equal("timeout", err.kind)
      assert(tape:finish())
    end)
    assert.are.same({ left = true }, kit.read().exchanges[1].response)
    local _, err = kit.claude(kit.open { mode = "replay" }, { base_url = base }):chat "Hi."
    assert.are.same({ "stream_truncated", "cassette_left" }, { err.kind, err.code })
  end)
end)

describe("a program that could not be asked", function()
  before_each(kit.begin)
  after_each(kit.restore)

  local OPTIONS = mcp_kit.options ""
  local SILENT, ABSENT = { "sh", "-c", "exit 2" }, { "/nonexistent/koine" }
  local SERVER = { OPTIONS.command, table.unpack(OPTIONS.args) }

  -- Starts these command lines on a tape: finish's results.
  local function start(mode, ...)
    local tape <close> = kit.open { mode = mode }
    for _, argv in ipairs { ... } do
      local client = koine.mcp.connect { name = "x", command = argv[1], args = { table.unpack(argv, 2) },
        transport = tape, era = "legacy", env = OPTIONS.env }
      if client then client:close() end
    end
    return tape:finish()
  end

  it("is not written but in the mode record", function()
    for _, mode in ipairs { "auto", "extend" } do
      local ok, err = start(mode, SERVER, SILENT)
      assert.is_nil(ok)
      assert.is_truthy(err.message:find("the program sh said nothing and ended (exit code 2)", 1, true), err.message)
      assert.is_truthy(err.message:find("KOINE_CASSETTE=record", 1, true))
      ok, err = start(mode, ABSENT, SERVER)
      assert.is_nil(ok)
      assert.is_truthy(err.message:find("the program /nonexistent/koine could not be started (cannot run", 1, true),
        err.message)
      assert.is_nil(kit.text())
    end
    assert(start("record", SILENT))
    assert.are.equal(2, kit.read().programs[1].ended.code)
    assert.is_truthy(select(2, start("record", ABSENT)).message:find("nothing was recorded", 1, true))
  end)

  it("is written where a later start went better", function()
    local mark = kit.path .. ".mark"
    local command = ('if test -e %s; then exec "$0" "$@"; fi; touch %s; exit 2'):format(mark, mark)
    local line = { "sh", "-c", command, table.unpack(SERVER) }
    assert(start("auto", line, line))
    assert.are.equal(2, #kit.read().programs)
  end)
end)

describe("a cassette", function()
  before_each(kit.begin)
  after_each(kit.restore)

  it("has methods that are called with a colon", function()
    local tape = kit.open()
    for _, name in ipairs { "key", "finish", "fault", "count", "clock", "begin", "program", "close" } do
      local message = raised(tape[name], nil, "x").message
      local words = ("cassette: cassette:%s(…) with a colon expected, got nothing in front"):format(name)
      assert.is_truthy(message:find(words, 1, true), message)
    end
  end)

  it("that is not written for what looks like a credential says what to do", function()
    local ok, err = record("auto", { served.answer(200, core.encode { a = "sk-ant-abcdefghijklmnop" }) }, { POST })
    assert.is_nil(ok)
    assert.are.equal("secret", err.code)
    assert.is_truthy(err.message:find("(the option redact changes it, allow keeps what is none)", 1, true), err.message)
    assert(record("auto", { served.answer(200, core.encode { a = "sk-ant-abcdefghijklmnop" }) }, { POST },
      { allow = { "sk-ant-abc" } }))
  end)
end)
