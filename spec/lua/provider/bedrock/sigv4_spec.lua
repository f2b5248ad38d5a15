-- Logins by AWS signature: golden signatures, where credentials come from, clocks that differ, and what errors do not
-- show. The loopback provider makes each signature anew.

local core = require "koine.core"
local environment = require "spec.support.environment"
local koine = require "koine"
local loopback = require "spec.support.loopback"
local raised = require "spec.support.raised"
local raw_server = require "spec.support.raw_server"
local sigv4 = require "koine.provider.auth.sigv4"

local MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
local SECRET, TOKEN = "loopback/secret+key", "loopback-session-token"
-- f with these variables, and no others of ours.
local function with_environment(variables, f, ...) return environment.with(variables, "^AWS_", f, ...) end

describe("a signature", function()
  -- Of botocore 1.43.11 and a script of its own.
  local BODY = '{"messages":[{"role":"user","content":[{"text":"hi"}]}]}'
  local CLAUDE = "/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse"
  local NOVA = "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2F" ..
    "us.amazon.nova-lite-v1%3A0/converse-stream"
  local GOLDEN = {
    { CLAUDE, nil, "a9e2ddee7983975acfe7ec4ddc10af309020f208d27103fa23c25efb8a5133e9" },
    { CLAUDE, "SESSION/TOKEN+EXAMPLE==", "1bef97df466025c549c13ea77754c58280823f3dbb812788af43b09bd43a29c2" },
    { NOVA, nil, "113ed6b08afd1812a6d9a4d95ad6b3b81a5259e427b1efdd347a258f343ee8fb" },
    { "/model/openai.gpt-oss-120b/converse", nil, "302e7b8e80b06608abb5424a798d78564d8ce41c1f2b535bf5b336846308f842" },
  }

  local function signed(url, token, fields)
    local what = { method = "POST", url = url, headers = { ["content-type"] = "application/json", other = "x" },
      body = BODY, region = "us-east-1", service = "bedrock", time = 1767323045.9, keys = { access_key = "AKIDEXAMPLE",
        secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", session_token = token } }
    for name, value in pairs(fields or {}) do what[name] = value end
    return sigv4.signed(what)
  end

  it("is the one that others make", function()
    for _, case in ipairs(GOLDEN) do
      local headers, signature = signed("https://bedrock-runtime.us-east-1.amazonaws.com" .. case[1], case[2])
      assert.are.equal(case[3], signature)
      assert.are.equal("20260102T030405Z", headers["x-amz-date"])
      assert.are.equal(case[2], headers["x-amz-security-token"])
      assert.are.equal("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/us-east-1/bedrock/aws4_request, "
        .. "SignedHeaders=content-type;host;x-amz-date" .. (case[2] and ";x-amz-security-token" or "")
        .. ", Signature=" .. case[3], headers.authorization)
    end
  end)

  it("knows the host as it is sent", function()
    local function of(authority) return select(2, signed("https://" .. authority .. "/a")) end
    assert.are.equal(of "host", of "host:443")
    assert.are.equal(of "host", of "user:password@host")
    assert.are_not.equal(of "host", of "host:444")
    assert.are_not.equal(of "host", of "host:80")
    assert.are.equal(select(2, signed "http://host/a"), select(2, signed "http://host:80/a"))
  end)

  it("sorts a query, and signs no header that is not there", function()
    local first = signed("https://host/a?b=1&a", nil, { method = "GET", headers = {} })
    assert.are.same(first, (signed("https://host/a?a=&b=1", nil, { method = "GET", headers = {} })))
    assert.is_truthy(first.authorization:find("SignedHeaders=host;x-amz-date,", 1, true))
    assert.are.equal(select(2, signed "https://host"), select(2, signed "https://host/"))
    for one, other in pairs { ["x=1=2"] = "x=1%3D2", ["x=a+b"] = "x=a%2Bb", ["x=a%2fb"] = "x=a%2Fb",
      ["x=\u{fc}"] = "x=%C3%BC", ["x1=0&x="] = "x=&x1=0", ["a-=3&ab=1&a=2"] = "a=2&a-=3&ab=1", ["x=%7e"] = "x=~" } do
      assert.are.equal(select(2, signed("https://host/a?" .. one)), select(2, signed("https://host/a?" .. other)))
    end
    -- sorted by name, then value: "a" stands before "a-"
    assert.are.equal(select(2, signed "https://host/a?a=2&a-=3"), select(2, signed "https://host/a?a-=3&a=2"))
  end)
end)

describe("credentials of AWS", function()
  local kit = loopback.new "echo"
  local adapter = kit.maker("bedrock", { model = MODEL, region = "eu-west-1" })
  local server

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(kit.reset)

  -- The Authorization header of the last request, which has to be without problems.
  local function sent()
    local last = kit.last()
    return last.headers.authorization, last.headers
  end

  local KEYS = { access_key = "AKIDLOOPBACK", secret_key = SECRET }

  it("sign what is sent, path, body and token", function()
    assert(adapter { credentials = KEYS }:chat "Hi")
    assert.is_truthy(sent():find "^AWS4%-HMAC%-SHA256 Credential=AKIDLOOPBACK/%d+/eu%-west%-1/bedrock/aws4_request, ")
    assert(adapter { credentials = { access_key = "AKIDLOOPBACK", secret_key = SECRET, session_token = TOKEN } }
      :chat("Hi", { stream = true, headers = { ["X-Team"] = "a  b" } }))
    local _, headers = sent()
    assert.are.equal(TOKEN, headers["x-amz-security-token"])
    assert.is_true(assert(adapter { credentials = KEYS }:count_tokens "Hi") > 0)
    assert.are.equal(25, #assert(adapter { credentials = KEYS }:list_models()))
    sent()
  end)

  it("come from a function, asked for each attempt", function()
    local asked = 0
    local a = adapter { retry = { max = 1, max_delay = 1 }, credentials = function()
      asked = asked + 1
      return KEYS
    end }
    assert(server:script { { error = { status = 503 } }, { content = "fine" } })
    assert.are.equal("fine", assert(a:chat "Hi"):text())
    assert.are.equal(2, asked)
  end)

  it("may be refused by the function, and are checked", function()
    local _, err = adapter { credentials = function() return nil, "the profile is gone" end }:chat "Hi"
    assert.are.same({ "auth", "Amazon Bedrock: the function credentials returned nil: the profile is gone" },
      { err.kind, err.message })
    _, err = adapter { credentials = function() return { access_key = "A", secret_key = "S", expires_at = 5 } end }
      :chat "Hi"
    assert.is_truthy(err.message:find("have expired: fresh ones are needed (expires_at is in Unix seconds)", 1, true))
    local dated = raised(adapter, { credentials = { access_key = "A", secret_key = "S", expires_at = "2026-01-01" } })
    assert.are.same({ "credentials.expires_at", "Unix seconds, a number" }, { dated.field, dated.expected })
    local later = core.wall() + 100
    assert(adapter { credentials = { access_key = "AKIDLOOPBACK", secret_key = SECRET, expires_at = later } }:chat "Hi")
    for field, bad in pairs { ["credentials.secret_key"] = { access_key = "A" },
      ["credentials.access_key"] = { access_key = "A\n", secret_key = "S" },
      ["credentials.secret"] = { access_key = "A", secret_key = "S", secret = "x" }, credentials = "AKID" } do
      local wrong = raised(adapter, { credentials = bad })
      assert.are.equal(field, wrong.field)
      _, err = adapter { credentials = function() return bad end }:chat "Hi"
      assert.are.same({ "auth", "bedrock" }, { err.kind, err.provider })
      local words = "the function returned an unfit value: " .. field .. ": "
      assert.is_truthy(err.message:find(words, 1, true), err.message)
      assert.is_nil(err.message:find("AKID", 1, true))
    end
  end)

  it("come from the environment: a bearer key first", function()
    local variables = { AWS_ACCESS_KEY_ID = "AKIDLOOPBACK", AWS_SECRET_ACCESS_KEY = SECRET,
      AWS_SESSION_TOKEN = TOKEN }
    with_environment(variables, function()
      local a = adapter()
      assert.is_true(a:authenticated())
      assert.is_true(a:authenticate())
      assert(a:chat "Hi")
      local authorization, headers = sent()
      assert.is_truthy(authorization:find("Credential=AKIDLOOPBACK/", 1, true))
      assert.are.equal(TOKEN, headers["x-amz-security-token"])
      variables.AWS_BEARER_TOKEN_BEDROCK = "bedrock-api-key-abc"
      assert(a:chat "Hi")
      assert.are.equal("Bearer bedrock-api-key-abc", (sent()))
      assert(adapter { credentials = KEYS }:chat "Hi") -- what the caller gives comes before the environment
      assert.is_truthy(sent():find "^AWS4")
      assert(adapter { credentials = KEYS, key = "given" }:chat "Hi")
      assert.are.equal("Bearer given", (sent()))
      assert(adapter { headers = { Authorization = "Bearer by-hand" } }:chat "Hi")
      assert.are.equal("Bearer by-hand", (sent()))
    end)
  end)

  it("are missed by name", function()
    local function failure(variables, options)
      return with_environment(variables, function()
        local a = adapter(options)
        local _, err = a:chat "Hi"
        assert.are.same({ "AuthenticationError", "auth" }, { err.class, err.kind })
        return err.message
      end)
    end
    assert.are.equal("Amazon Bedrock: no credentials: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
      .. "AWS_SECRET_ACCESS_KEY, or give the option key or credentials", failure {})
    assert.are.equal("Amazon Bedrock: AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY",
      failure { AWS_ACCESS_KEY_ID = "A" })
    assert.are.equal("Amazon Bedrock: the credential in AWS_SECRET_ACCESS_KEY is one that ends with a newline",
      failure { AWS_ACCESS_KEY_ID = "A", AWS_SECRET_ACCESS_KEY = "S\n" })
    assert.are.equal("Amazon Bedrock: no region to sign for: set AWS_REGION, or give the option region",
      with_environment({}, function()
        return select(2, koine.bedrock { model = MODEL, base_url = server.url, credentials = KEYS }:chat "Hi").message
      end))
    assert.is_false(with_environment({}, function() return adapter():authenticated() end))
    assert.are.equal(0, #assert(server:requests()))
  end)

  it("need a region where the address has one", function()
    local function host(variables, options)
      return with_environment(variables, function()
        return core.state(koine.bedrock(options or {})).base_url
      end)
    end
    assert.are.equal("https://bedrock-runtime.eu-north-1.amazonaws.com", host { AWS_REGION = "eu-north-1" })
    assert.are.equal("https://bedrock-runtime.eu-north-1.amazonaws.com",
      host { AWS_REGION = "", AWS_DEFAULT_REGION = "eu-north-1" })
    assert.are.equal("https://bedrock-runtime.us-west-2.amazonaws.com",
      host({ AWS_REGION = "eu-north-1" }, { region = "us-west-2" }))
    local err = raised(host, {})
    assert.are.equal("region", err.field)
    assert.is_truthy(err.message:find("AWS_REGION", 1, true))
    assert.are.equal("region", raised(host, {}, { region = "us/west" }).field)
  end)

  it("are signed by the provider's clock once it is known", function()
    local a = adapter { credentials = { access_key = "AKIDLOOPBACKAHEAD", secret_key = SECRET } }
    local r = assert(a:chat "Hi")
    assert.are.equal(1, #r.attempts - 1)
    assert.are.equal(403, r.attempts[1].status_code)
    assert.are.equal(2, #assert(server:requests()))
    assert(a:chat "Hi again")
    assert.are.equal(3, #assert(server:requests()))
    local first, second = server:requests()[2].headers["x-amz-date"], server:requests()[3].headers["x-amz-date"]
    assert.is_true(second >= first)
    assert.are.equal(25, #assert(adapter { credentials = { access_key = "AKIDLOOPBACKAHEAD", secret_key = SECRET } }
      :list_models()))
  end)

  it("that are wrong are refused once, without a second try", function()
    for _, keys in ipairs { { access_key = "AKIDSTRANGER", secret_key = SECRET },
      { access_key = "AKIDLOOPBACK", secret_key = "another/secret" } } do
      local _, err = adapter { credentials = keys }:chat "Hi"
      assert.are.same({ "auth", 403, false }, { err.kind, err.status_code, err.retryable })
      assert.is_number(err.server_time)
      assert(server:reset())
      assert(server:script "echo")
    end
  end)

  -- The message of the refusal that these credentials get, and how many requests were sent.
  local function refused(options)
    local _, err = adapter(options):chat "Hi"
    assert.are.same({ "AuthenticationError", "auth", 403, false },
      { err.class, err.kind, err.status_code, err.retryable })
    assert.are.equal(#assert(server:requests()), #err.attempts)
    return err.message, #err.attempts
  end

  it("that were refused say what to do", function()
    local function keys(access, secret)
      return { access_key = access, secret_key = secret or SECRET }
    end
    for _, case in ipairs {
      { { credentials = keys "AKIDLOOPBACKEXPIRED" },
        "The security token included in the request is expired (get new credentials: the option credentials)" },
      { { credentials = function() return keys "AKIDLOOPBACKEXPIRED" end },
        "(get new credentials: what the function credentials returns)" },
      { { credentials = KEYS, region = "xx-elsewhere-1" }, "Credential should be scoped to a valid region. "
        .. "(it was signed for xx-elsewhere-1: the option region and the address have to fit)" },
      { { credentials = keys "AKIDSTRANGER" },
        "is invalid. (check the access key and the session token: the option credentials)" },
      { { credentials = keys("AKIDLOOPBACK", "another/secret") },
        "(check the secret key; a proxy that changes the path or the body breaks signatures)" },
    } do
      assert(server:reset())
      assert(server:script "echo")
      local message, sent_so_often = refused(case[1])
      assert.is_truthy(message:find(case[2], 1, true), message)
      assert.are.equal(1, sent_so_often)
    end
    with_environment({ AWS_ACCESS_KEY_ID = "AKIDLOOPBACKEXPIRED", AWS_SECRET_ACCESS_KEY = SECRET }, function()
      local message = select(2, adapter():chat "Hi").message
      assert.is_truthy(message:find("(get new credentials: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
        .. "AWS_SESSION_TOKEN)", 1, true), message)
    end)
  end)

  it("whose time is refused for good say that the clock is wrong", function()
    -- Without the header Date there is nothing to learn; with it, no second thing.
    -- A clock of another day is not believed.
    local function date(seconds) return { date = os.date("!%a, %d %b %Y %H:%M:%S GMT", os.time() + seconds) } end
    local near, far = { date(7200), date(-86000) }, { false, date(90000), { date = "Fri, 31 Dec 9999 23:59:59 GMT" } }
    local believed = {}
    for _, headers in ipairs(near) do believed[headers.date] = true end
    for _, headers in ipairs { near[1], near[2], table.unpack(far) } do
      local said = { message = "Signature expired: 20260101T000000Z is now earlier than 20260101T001000Z." }
      local refusal = { error = { status = 403, type = "InvalidSignature", message = said.message,
        headers = headers or nil } }
      assert(server:reset())
      assert(server:script { refusal, refusal, refusal })
      local message, sent_so_often = refused { credentials = KEYS }
      assert.is_truthy(message:find("(the clock of this machine differs from the provider's: set it)", 1, true))
      assert.are.equal(headers and believed[headers.date] and 2 or 1, sent_so_often)
    end
  end)

  it("forget a time that did not help", function()
    local refusal = { error = { status = 403, type = "InvalidSignature", message = "Signature expired: x",
      headers = { date = os.date("!%a, %d %b %Y %H:%M:%S GMT", os.time() + 7200) } } }
    assert(server:script { refusal, { content = "a" } }) -- the server refuses the second signature itself
    local a = adapter { credentials = KEYS }
    assert.is_nil((a:chat "Hi"))
    assert.are.equal("a", assert(a:chat "Hi"):text())
    assert.are.equal(3, #assert(server:requests()))
  end)

  it("sign the host that the caller sends", function()
    assert(adapter { credentials = KEYS, headers = { Host = "other.example" } }:chat "Hi")
    assert.are.equal("other.example", select(2, sent()).host)
  end)

  it("refuse an address whose path is changed on its way", function()
    for _, path in ipairs { "/a/../b", "/a/./b", "/a//b", "/%2E%2e/b", "/a/..", "/\u{fc}", "//a" } do
      local err = raised(koine.bedrock, { model = MODEL, region = "eu-west-1", credentials = KEYS,
        base_url = "http://127.0.0.1:1" .. path })
      assert.are.equal("base_url", err.field)
    end
    for _, path in ipairs { "", "/", "/a", "/a/", "/a/b.c/..d" } do
      koine.bedrock { model = MODEL, region = "eu-west-1", credentials = KEYS, base_url = "http://127.0.0.1:1" .. path }
    end
  end)

  it("of a bearer key say that it is over", function()
    assert(server:script { { error = { status = 403, type = "AccessDenied", message = "Bearer Token has expired" } } })
    local message = refused { key = "bedrock-api-key-abc" }
    assert.are.equal("Bearer Token has expired (make a new bearer key: one that is made of a login holds 12 hours at "
      .. "most)", message)
  end)

  it("are in no error", function()
    local secret, token, id = "very/secret+signing/key", "a-session-token-of-some-length", "AKIDWHATEVER0"
    local said = ('{"message":"The canonical request was %s, the key %s of %s."}'):format(token, secret, id)
    local echo = raw_server.start(raw_server.answer(403, said))
    local _, err = koine.bedrock { model = "x", base_url = echo.url, region = "eu-west-1", retry = false,
      credentials = { access_key = id, secret_key = secret, session_token = token } }:chat "Hi"
    echo:requests()
    assert.are.same({ "permission", 403 }, { err.kind, err.status_code })
    local all = table.concat({ err.message, err.raw, tostring(err) }, "\n")
    assert.is_truthy(all:find("[redacted]", 1, true))
    for _, word in ipairs { secret, token, id } do assert.is_nil(all:find(word, 1, true)) end
  end)
end)
