local core = require "koine.core"
local errors = require "koine.data.errors"

describe("errors", function()
  it("take class and retryable from their kind", function()
    local classes = {
      auth = { "AuthenticationError", false }, permission = { "AuthenticationError", false },
      rate_limit = { "RateLimitError", true }, billing = { "RateLimitError", false },
      overloaded = { "ServerError", true }, server = { "ServerError", true }, protocol = { "ServerError", false },
      invalid_request = { "RequestError", false }, not_found = { "RequestError", false },
      too_large = { "RequestError", false }, context_overflow = { "RequestError", false },
      connect = { "ConnectionError", true }, timeout = { "ConnectionError", true },
      stream_truncated = { "ConnectionError", true }, cancelled = { "CancelledError", false },
      limit = { "Error", false }, argument = { "ArgumentError", false },
      not_implemented = { "NotImplementedError", false },
    }
    for kind, expected in pairs(classes) do
      local err = errors.new { kind = kind, message = "m" }
      assert.are.equal(expected[1], err.class, kind)
      assert.are.equal(expected[2], err.retryable, kind)
    end
    assert.are.equal("ServerError", errors.new { kind = "timeout", message = "m", status_code = 504 }.class)
  end)

  it("have these classes, each of them an Error", function()
    assert.are.same({ "AuthenticationError", "RateLimitError", "ServerError", "RequestError", "ConnectionError",
      "CancelledError", "ArgumentError", "NotImplementedError", "Error" }, errors.classes)
    for _, class in ipairs(errors.classes) do
      local err = errors.new { kind = "other", class = class, message = "m" }
      assert.is_true(err:is(class) and err:is "Error")
    end
  end)

  it("carry what they are given, and nothing else", function()
    local err = errors.new { kind = "rate_limit", message = "m", status_code = 429, provider = "row", retry_after = 2.5,
      request_id = "r", code = "c", raw = "body" }
    assert.are.same({ 429, "row", 2.5, "r", "c", "body" },
      { err.status_code, err.provider, err.retry_after, err.request_id, err.code, err.raw })
    err = errors.new { kind = "rate_limit", message = "m" }
    for _, field in ipairs { "status_code", "provider", "retry_after", "request_id", "code", "attempts", "partial",
      "raw" } do
      assert.is_nil(err[field], field)
    end
  end)

  it("stay the same object through pcall, error and assert", function()
    local err = errors.new { kind = "server", message = "m" }
    local ok, caught = pcall(error, err)
    assert.is_false(ok)
    assert.is_true(rawequal(err, caught))
    ok, caught = pcall(function()
      local _, inner = pcall(error, err)
      error(inner)
    end)
    assert.is_false(ok)
    assert.is_true(rawequal(err, caught))
    assert.is_true(caught:is "ServerError")
    assert.are.equal("m", tostring(caught))
    assert.is_true(rawequal(err, select(2, pcall(_G.assert, nil, err))))
  end)

  it("say what they are", function()
    local err = errors.new { kind = "rate_limit", message = "slow down", retry_after = 3 }
    assert.is_true(err:is "RateLimitError")
    assert.is_true(err:is "Error")
    assert.is_false(err:is "ServerError")
    assert.are.equal("slow down", tostring(err))
    assert.is_true(errors.is_error(err))
    assert.is_false(errors.is_error { kind = "rate_limit" })
    assert.is_false(errors.is_error "slow down")
  end)

  it("can be joined with texts, in both orders, and with each other", function()
    local err = errors.new { kind = "server", message = "m" }
    assert.are.equal("failed: m", "failed: " .. err)
    assert.are.equal("m!", err .. "!")
    assert.are.equal("1m2", 1 .. err .. 2)
    assert.are.equal("mm", err .. err)
  end)

  it("in words have neither a place nor a traceback", function()
    local raised = select(2, pcall(function() errors.argument("model", "string", 12) end))
    assert.is_truthy(tostring(raised):find "errors_spec%.lua:%d+: model:")
    assert.are.equal("model: string expected, got 12", errors.words(raised))
    for text, words in pairs { ["/srv/app/tool.lua:12: gone"] = "gone", ["/srv/app/tool:12: gone"] = "gone",
      ['[string "x = 1"]:1: gone'] = "gone", ["gone\nstack traceback:\n\t[C]: in ?"] = "gone",
      ["localhost:80: refused"] = "localhost:80: refused", ["http://host/a:80: refused"] = "http://host/a:80: refused",
      [""] = "" } do
      assert.are.equal(words, errors.words(text))
    end
    assert.are.equal("refused", errors.words(errors.new { kind = "connect", message = "refused" }))
  end)

  it("keep a given class and retryable", function()
    local err = errors.new { kind = "server", message = "m", retryable = false }
    assert.is_false(err.retryable)
  end)

  it("are one line of at most 500 bytes that ends with a whole character", function()
    local err = errors.new { kind = "server", message = "a\r\nb\0c" .. ("é"):rep(400) }
    local text = tostring(err)
    assert.is_nil(text:find "%c")
    assert.are.equal("a  b c", text:sub(1, 6))
    assert.are.equal(500, #text)
    assert.is_truthy(utf8.len(text))
    err.message = "x" .. ("é"):rep(400)
    assert.are.equal(499, #tostring(err))
    assert.is_truthy(utf8.len(tostring(err)))
  end)

  -- Every way that a message is made, with bytes that are no UTF-8 in it, or a cut inside a character.
  it("are legal UTF-8 and hold no control character, wherever they come from", function()
    local odd, wide = "a\xFF\xC3b\0c\x80", "\u{20AC}"
    local function raised_by(f, ...) return (select(2, pcall(f, ...))) end
    local chunk = assert(load(("-- %s\nrequire('koine').anthropic(1)"):format(wide:rep(40)), "=" .. wide:rep(40)))
    local made = {
      errors.new { kind = "server", message = odd },
      errors.new { kind = "server", message = ("a"):rep(499) .. "\u{E9}" },
      raised_by(errors.argument, "field." .. odd, odd, odd), raised_by(errors.argument, "f", "x", wide:rep(30)),
      raised_by(errors.not_implemented, odd, odd), raised_by(chunk),
      raised_by(assert(load("require('koine').anthropic(1)", wide:rep(30)))),
      raised_by(require("koine").anthropic, { [odd] = 1 }), raised_by(require("koine").anthropic, { model = { odd } }),
      select(2, core.file_read("/no/such/" .. odd:gsub("%z", ""), 10)),
      select(2, require("koine").process.run { "no-such-" .. odd:gsub("%z", "") }),
      select(2, require("koine").process.run { "no-such-" .. wide:rep(60) }),
    }
    for _, body in ipairs { odd, '{"error":{"message":"' .. odd .. '","code":"' .. odd .. '"}}', odd:rep(300),
      '{"error":"' .. wide:rep(300) .. '"}', '{"error":{"message":"a\\u009b31m\\u2028\\ud800"}}',
      '{"error":{"message":"m","code":"' .. wide:rep(40) .. '"}}' } do
      for _, secret in ipairs { "abcdefgh", "\xAC\u{20AC}\u{20AC}\u{20AC}" } do
        made[#made + 1] = errors.from_answer("p", { status = 400, headers = {}, body = body }, { secret })
      end
    end
    for i, err in ipairs(made) do
      assert.is_true(errors.is_error(err), tostring(err))
      for _, text in ipairs { err.message, tostring(err), err.code or "", err.field or "" } do
        assert.is_truthy(utf8.len(text), ("%d: %q"):format(i, text))
        assert.is_nil(text:find "%c" or text:find "\xC2[\x80-\x9F]" or text:find "\u{2028}", text)
      end
      assert.is_true(#tostring(err) <= 500)
    end
    assert.are.equal(24, #made)
  end)

  it("need a kind and a message", function()
    local ok, err = pcall(errors.new, { message = "m" })
    assert.is_false(ok)
    assert.are.equal("kind", err.field)
    ok, err = pcall(errors.new, { kind = "server" })
    assert.is_false(ok)
    assert.are.equal("message", err.field)
  end)

  it("are raised at the caller's line", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local ok, err = pcall(function() errors.argument("model", "string", 12) end)
    assert.is_false(ok)
    assert.are.equal("ArgumentError", err.class)
    assert.are.equal("model", err.field)
    assert.are.equal("string", err.expected)
    assert.is_truthy(tostring(err):find("errors_spec.lua:" .. line .. ": model: string expected, got 12", 1, true))
  end)

  it("for what is not implemented name adapter and method", function()
    local ok, err = pcall(errors.not_implemented, "Perplexity", "list_models")
    assert.is_false(ok)
    assert.are.equal("NotImplementedError", err.class)
    assert.are.equal("Perplexity", err.adapter)
    assert.are.equal("list_models", err.method)
    assert.is_truthy(tostring(err):find "Perplexity does not implement list_models$")
  end)
end)

describe("errors.try", function()
  it("passes results on", function()
    assert.are.same({ 1, 2, n = 2 }, table.pack(errors.try(function(...) return ... end, 1, 2)))
    assert.are.equal(0, select("#", errors.try(function() end)))
  end)

  it("returns nil and a Koine error", function()
    local thrown = errors.new { kind = "server", message = "m" }
    local value, err = errors.try(error, thrown)
    assert.is_nil(value)
    assert.are.equal(thrown, err)
  end)

  it("raises anything else unchanged", function()
    local other = {}
    local ok, err = pcall(errors.try, error, other)
    assert.is_false(ok)
    assert.are.equal(other, err)
    ok, err = pcall(errors.try, error, "text", 0)
    assert.is_false(ok)
    assert.are.equal("text", err)
  end)
end)

describe("errors.describe", function()
  it("puts values in words", function()
    assert.are.equal("nothing", errors.describe(nil))
    assert.are.equal('"x"', errors.describe "x")
    assert.are.equal([["two\nlines\\"]], errors.describe "two\nlines\\")
    assert.are.equal("1.5", errors.describe(1.5))
    assert.are.equal("true", errors.describe(true))
    assert.are.equal("a table", errors.describe {})
    assert.are.equal("null", errors.describe(core.null))
    assert.is_true(#errors.describe(("x"):rep(1000)) < 60)
  end)
end)

describe("errors.from_answer", function()
  local function of(status, body, headers)
    return errors.from_answer("row", { status = status, headers = headers or {}, body = body or "" }, { "s3-cr%t-k" })
  end

  it("reads the class from the status", function()
    local expected = { [400] = "RequestError", [401] = "AuthenticationError", [402] = "RateLimitError",
      [403] = "AuthenticationError", [404] = "RequestError", [408] = "ServerError", [422] = "RequestError",
      [429] = "RateLimitError", [500] = "ServerError", [503] = "ServerError", [504] = "ServerError",
        [529] = "ServerError" }
    for status, class in pairs(expected) do
      local err = of(status)
      assert.are.equal(class, err.class, status)
      assert.are.equal(status, err.status_code)
      assert.are.equal("row", err.provider)
    end
    assert.is_false(of(402).retryable)
    assert.is_true(of(503).retryable)
  end)

  it("finds the message in every known shape", function()
    assert.are.equal("a", of(400, '{"error":{"message":"a"}}').message)
    assert.are.equal("a", of(400, '{"error":"a"}').message)
    assert.are.equal("a", of(400, '{"message":"a"}').message)
    assert.are.equal("a", of(400, '{"detail":"a"}').message)
    assert.matches("HTTP 400", of(400, "<html>").message)
    assert.matches("HTTP 502", of(502).message)
  end)

  it("shows no secret and keeps a bounded body", function()
    local err = of(401, '{"error":{"message":"bad key s3-cr%t-k!"}}')
    assert.are.equal("bad key [redacted]!", err.message)
    assert.is_nil(err.raw:find("s3-cr%t-k", 1, true))
    assert.are.equal(64 * 1024, #of(500, ("x"):rep(100000)).raw)
  end)

  it("reads how long to wait and whether to try again", function()
    assert.are.equal(2, of(429, "", { ["retry-after"] = "2" }).retry_after)
    assert.are.equal(0.25, of(429, "", { ["retry-after"] = "2", ["retry-after-ms"] = "250" }).retry_after)
    assert.is_nil(of(429, "", { ["retry-after"] = "soon" }).retry_after)
    assert.is_false(of(429, "", { ["x-should-retry"] = "false" }).retryable)
    assert.is_true(of(400, "", { ["x-should-retry"] = "true" }).retryable)
    assert.are.equal("r1", of(500, "", { ["request-id"] = "r1" }).request_id)
  end)
end)

describe("a lack of memory", function()
  local check = require "koine.data.check"
  local service = require "koine.provider.login_service"

  local function short() error("not enough memory", 0) end

  it("is told from what else Lua raises", function()
    assert.is_true(check.is_memory(select(2, pcall(short))))
    assert.is_false(check.is_memory "not enough memory for dinner")
    assert.is_false(check.is_memory(errors.new { kind = "limit", message = "not enough memory" }))
  end)

  it("is not taken for a value that is no adapter, or an answer that is no JSON", function()
    local ok, err = pcall(check.adapter, setmetatable({}, { __index = short }), "adapter")
    assert.is_false(ok)
    assert.are.equal("not enough memory", err)
    assert.is_nil(service.object "{")
    assert.are.equal(1, service.object('{"a":1}').a)
  end)
end)
