-- The raw view: requests and answers as they are, without any credential, at the options and by KOINE_DEBUG.

local core = require "koine.core"
local http = require "koine.net.http"
local koine = require "koine"
local raw = require "koine.net.raw"
local secrets = require "koine.net.secrets"
local served = require "spec.lua.net.served"
local streamed = require "koine.net.streamed"

local CANARY <const> = "sk-canary-0123456789-abcdef"

-- A keeper of what is shown: {requests, parts}, and the options that fill it.
local function keeper()
  local kept = { requests = {}, parts = {} }
  return kept, { on_request = function(request) table.insert(kept.requests, request) end,
    on_response = function(part) table.insert(kept.parts, part) end }
end

local function with(options, more)
  for name, value in pairs(more) do options[name] = value end
  return options
end

local function phases(parts)
  local words = {}
  for i, part in ipairs(parts) do words[i] = part.phase end
  return table.concat(words, " ")
end

local function body_of(parts)
  local pieces = {}
  for _, part in ipairs(parts) do pieces[#pieces + 1] = part.body end
  return table.concat(pieces)
end

local function played(answer)
  return { begin = function() return core.recording(answer) end }
end

-- No value of a table, at any depth, holds the text.
local function lacks(value, text)
  assert.is_nil(core.encode(value):find(text, 1, true))
end

describe("the raw view", function()
  it("shows each attempt, without the key", function()
    local server <close> = assert(koine.testing.start { script = {
      { error = { status = 429, headers = { ["retry-after-ms"] = "1" }, message = "not with " .. CANARY } },
      { content = "You said " .. CANARY, chunk = 100, fault = { write_bytes = 7 } } } })
    local kept, options = keeper()
    local adapter = koine.anthropic(with(options, { model = "claude-sonnet-4-5", key = CANARY,
      base_url = server.url .. "?key=" .. CANARY .. "2&api_key=" .. CANARY .. "3&x=1" }))
    for _ in adapter:stream("Say " .. CANARY) do end
    assert.are.equal(2, #kept.requests)
    local request = kept.requests[2]
    assert.are.equal("POST", request.method)
    assert.are.equal(server.url .. "/v1/messages?key=[redacted]&api_key=[redacted]&x=1", request.url)
    assert.are.equal("[redacted]", request.headers["x-api-key"])
    assert.are.equal("2023-06-01", request.headers["anthropic-version"])
    assert.is_truthy(request.body:find("Say [redacted]", 1, true))
    assert.are.equal("head body end", phases(kept.parts):sub(1, 13))
    assert.are.equal(429, kept.parts[1].status)
    assert.are.equal("1", kept.parts[1].headers["retry-after-ms"])
    local last = kept.parts[#kept.parts]
    assert.are.equal("end", last.phase)
    assert.are.equal(request.id, last.id)
    assert.is_nil(last.error)
    assert.is_nil(last.left)
    assert.is_true(last.bytes > 0 and last.seconds > 0)
    assert.is_truthy(body_of(kept.parts):find("message_stop", 1, true))
    lacks(kept, "canary")
  end)

  it("shows the answer of an attempt that is made again for a chat", function()
    local server <close> = assert(koine.testing.start { script = {
      { error = { status = 429, headers = { ["retry-after-ms"] = "1" } } }, { content = "Hello." } } })
    local kept, options = keeper()
    local adapter = koine.anthropic(with(options, { model = "claude-sonnet-4-5", key = "k", base_url = server.url }))
    assert(adapter:chat("Hi.", { max_tokens = 100 }))
    assert.are.equal("head body end head body end", phases(kept.parts))
    assert.are.equal(kept.requests[2].id, kept.parts[4].id)
  end)

  it("shows an answer as it comes, and no key that is cut between two chunks", function()
    served.run(function(connection)
      connection:send(served.stream_head { { "set-cookie", "a=" .. CANARY }, { "x-request-id", "r1" } })
      connection:send(served.chunk("data: one\n\ndata: " .. CANARY:sub(1, 12)))
      connection:wait_for_earlier()
      connection:send(served.chunk(CANARY:sub(13) .. " two\n\n"))
      connection:hang()
    end, function(url)
      local kept, options = keeper()
      local answer <close> = assert(streamed.open(with(options, { url = url, secrets = { CANARY } })))
      assert.are.equal("one", answer:record().data)
      assert.are.equal("head body", phases(kept.parts):sub(1, 9))
      assert.are.equal("data: one\n\n", kept.parts[2].body)
      assert.are.equal(CANARY .. " two", answer:record().data)
      assert.are.equal("data: one\n\ndata: [redacted] two\n\n", body_of(kept.parts))
      assert.are.equal("[redacted]", kept.parts[1].headers["set-cookie"])
      assert.are.equal("r1", kept.parts[1].headers["x-request-id"])
      answer:close()
      answer:close()
      assert.are.equal("end", kept.parts[#kept.parts].phase)
      assert.is_true(kept.parts[#kept.parts].left)
      lacks(kept, "canary")
    end)
  end)

  it("shows lines without an end in bounded pieces, and no key in them", function()
    local half = ("x"):rep(70000)
    local kept, options = keeper()
    local pieces, body = {}, half .. CANARY .. half
    for at = 1, #body, 7000 do
      pieces[#pieces + 1], pieces[#pieces + 2] = at / 1e6, math.min(7000, #body - at + 1)
    end
    local answer <close> = assert(streamed.open(with(options, { url = "http://nowhere.invalid/", secrets = { CANARY },
      transport = played { status = 200, body = body, pieces = pieces, unwaited = true } })))
    assert.are.equal(body, answer:body())
    assert.are.equal(half .. "[redacted]" .. half, body_of(kept.parts))
    assert.is_true(#kept.parts > 3)
  end)

  it("shows nothing of what a login sends and gets", function()
    local kept, options = keeper()
    local token = core.encode { access_token = "canary-of-access", refresh_token = "canary-of-refresh",
      expires_in = 3600 }
    local at = token:find("access_token", 1, true)
    assert(http.send(with(options, { method = "POST", url = "http://nowhere.invalid/token?code=canary-of-query",
      body = "grant_type=authorization_code&code=canary-of-form&client_secret=canary-of-secret",
      headers = { ["Content-Type"] = "application/x-www-form-urlencoded", Authorization = "Basic canary-of-header" },
      transport = played { status = 200, headers = { location = "https://a/?token=canary-of-location" }, body = token,
        pieces = { 0, at + 18, 0.1, #token - at - 18 }, unwaited = true } })))
    assert.are.equal("head body end", phases(kept.parts))
    assert.are.equal("grant_type=authorization_code&code=[redacted]&client_secret=[redacted]", kept.requests[1].body)
    assert.are.equal(3600, core.decode(body_of(kept.parts)).expires_in)
    lacks(kept, "canary")
  end)

  it("ends an attempt whose answer cannot be used", function()
    local server <close> = assert(koine.testing.start { script = { { content = ("x"):rep(4000), chunk = 4000,
      fault = { stall_after = 3500 } } } })
    local kept, options = keeper()
    local adapter = koine.anthropic(with(options, { model = "claude-sonnet-4-5", key = "k", base_url = server.url,
      limits = { line = 2000 } }))
    local opened <close> = assert(adapter:open "Hi.")
    local _, err = opened:response()
    assert.are.equal("limit", err.kind)
    assert.are.equal("end", kept.parts[#kept.parts].phase)
    assert.are.equal("limit", kept.parts[#kept.parts].error.kind)
  end)

  it("ends with the error of a request that fails", function()
    local kept, options = keeper()
    local answer, err = http.send(with(options, { url = "http://nowhere.invalid/", transport = played {
      error = { kind = "connect", message = "it broke" } } }))
    assert.is_nil(answer)
    assert.are.equal("end", phases(kept.parts))
    assert.are.same({ kind = err.kind, message = "it broke" }, kept.parts[1].error)
  end)

  it("cannot harm: what looks on may raise, yield and ask itself", function()
    local server <close> = assert(koine.testing.start { script = { { content = "Hello." }, { content = "Again." } } })
    local before, calls, inner = koine.observe.errors(), 0, nil
    local adapter
    adapter = koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = server.url,
      on_request = function(request)
        calls = calls + 1
        request.headers["x-api-key"], request.body = "other", "other"
        if calls == 1 then inner = adapter:chat("Inside?"):text() end
        error "looked badly"
      end,
      on_response = function() coroutine.yield() end }
    assert.are.equal("Again.", assert(adapter:chat "Hi."):text())
    assert.are.equal("Hello.", inner)
    assert.are.equal(1, calls)
    assert.is_true(koine.observe.errors() >= before + 4)
  end)

  it("makes nothing where nobody looks", function()
    if raw.level > 0 then return end
    assert.is_nil(raw.begin { url = "http://nowhere.invalid/" })
  end)

  it("looks at answers that a cassette keeps, which it leaves whole", function()
    local server <close> = assert(koine.testing.start { script = { { content = "Hello." } } })
    local recording
    local kept, options = keeper()
    local adapter = koine.anthropic(with(options, { model = "claude-sonnet-4-5", key = "k", base_url = server.url,
      transport = { begin = function()
        recording = core.recording()
        return recording
      end } }))
    for _ in adapter:stream "Hi." do end
    assert.are.equal(recording:read().body, body_of(kept.parts))
  end)
end)

describe("what headers hold", function()
  it("is hidden where their name says that it is a credential", function()
    local found = {}
    for _, name in ipairs { "Authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "Cookie",
      "set-cookie", "x-amz-security-token", "x-client-secret", "x-auth-token", "cf-aig-authorization",
      "x-team-password-2" } do
      assert.are.equal("[redacted]", secrets.hide_in_header(name, "Bearer " .. CANARY, found))
    end
    for _, name in ipairs { "x-ratelimit-remaining-tokens", "anthropic-ratelimit-tokens-reset", "www-authenticate",
      "content-type", "x-request-id" } do
      assert.are.equal("12", secrets.hide_in_header(name, "12"))
    end
    assert.are.equal(CANARY, found[1])
  end)
end)

describe("KOINE_DEBUG", function()
  -- The lines that a program writes to the standard error output at a level.
  local function lines_of(level, program)
    local path = os.tmpname()
    local file <close> = assert(io.open(path, "wb"))
    file:write(program)
    file:close()
    local run <close> = assert(io.popen(("KOINE_DEBUG=%s %s %s 2>&1"):format(level, os.getenv "KOINE_LUA" or "lua5.4",
      path)))
    local text = run:read "a"
    os.remove(path)
    return text
  end

  local PROGRAM <const> = ([[
    local core, http = require "koine.core", require "koine.net.http"
    local function send(body, answer)
      http.send { method = "POST", url = "http://nowhere.invalid/a?key=CANARY", headers = { authorization =
        "Bearer CANARY" }, secrets = { "CANARY" }, body = body, transport = { begin = function()
        return core.recording(answer) end } }
    end
    send("tell CANARY \27]0;title\7 \u{9B}2J \u{202E}", { status = 200, headers = { ["x-note"] = "see CANARY" },
      body = "it is CANARY\n" .. ("y"):rep(40000) })
    send("\0\255\1binary", { status = 500, body = "\x89PNG\255\0" })
  ]]):gsub("CANARY", CANARY)

  it("0 says nothing, 1 a line a request, 2 heads, 3 bodies; never a key, nothing for a terminal", function()
    assert.are.equal("", lines_of("0", PROGRAM))
    local one, two, three = lines_of("1", PROGRAM), lines_of("2", PROGRAM), lines_of("3", PROGRAM)
    assert.is_truthy(one:find("^koine 1 = POST http://nowhere.invalid/a%?key=%[redacted%] 200 %d+%.%d+ s, %d+ bytes\n"
      .. "koine 2 = POST [^\n]* 500 [^\n]*\n$"), one)
    assert.is_truthy(two:find("koine 1 > authorization: [redacted]\n", 1, true))
    assert.is_truthy(two:find("koine 1 < x-note: see [redacted]\n", 1, true))
    assert.is_nil(two:find("tell", 1, true))
    assert.is_truthy(three:find("koine 1 > tell [redacted] \\x1B]0;title\\x07 \\u{9B}2J \\u{202E}\n", 1, true), three)
    assert.is_truthy(three:find("koine 1 < it is [redacted]\n", 1, true))
    assert.is_truthy(three:find("koine 1 < … %d+ more bytes\n"))
    assert.is_truthy(three:find("koine 2 > [9 bytes that are no text]\n", 1, true))
    assert.is_truthy(three:find("koine 2 < [6 bytes that are no text]\n", 1, true))
    for _, text in ipairs { one, two, three } do
      assert.is_nil(text:find("canary", 1, true))
      assert.is_nil(text:find "[\0-\9\11-\31]")
    end
  end)
end)
