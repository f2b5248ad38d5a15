-- A 404 names the URL that answered it: of a chat, plain and streamed, of a list, of a count; without credentials.

local koine = require "koine"

describe("an error with status 404", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  -- An adapter that goes astray below `path`.
  local function astray(path, user)
    return koine.anthropic { model = "m", key = "sk-very-secret-1", retry = false,
      base_url = server.url:gsub("//", "//" .. (user or "")) .. path }
  end

  local function names(err, url)
    assert.are.equal("not_found", err.kind)
    assert.is_truthy(err.message:find(" (404 from " .. url .. ")", 1, true), err.message)
    assert.are.equal(err.message, tostring(err))
    assert.is_true(#err.message <= 500, #err.message .. " bytes")
  end

  it("names the URL, of a chat, a stream, a list and a count", function()
    local adapter, url = astray "/v2", server.url .. "/v2/v1/"
    names(select(2, adapter:chat "Hi."), url .. "messages")
    names(select(2, adapter:chat("Hi.", { stream = true })), url .. "messages")
    names(select(2, pcall(function() for _ in adapter:stream "Hi." do error "a delta" end end)), url .. "messages")
    names(select(2, adapter:list_models()), url .. "models")
    names(select(2, adapter:count_tokens "Hi."), url .. "messages/count_tokens")
  end)

  it("names it behind whatever the provider said, however long", function()
    for _, said in ipairs { { body = "" }, { body = "<html><title>Gone</title></html>" }, { message = "no such model" },
      { message = ("é"):rep(2000) }, { message = "x" .. ("é"):rep(2000) } } do
      said.status = 404
      assert(server:reset())
      assert(server:script { { error = said } })
      local _, err = astray "":chat "Hi."
      names(err, server.url .. "/v1/messages")
      assert.is_truthy(utf8.len(err.message))
    end
  end)

  it("shows no credentials, no query, and of a long URL the beginning", function()
    for _, path in ipairs { "/a?api-version=1&sig=sk-other-secret", "/sk-very-secret-1/a", "/" .. ("long"):rep(400) } do
      local _, err = astray(path, "user:sk-pass-word@"):chat "Hi."
      assert.are.equal(404, err.status_code)
      assert.is_truthy(err.message:find(" (404 from " .. server.url, 1, true), err.message)
      for _, secret in ipairs { "very-secret", "other-secret", "pass-word", "user:" } do
        assert.is_nil(err.message:match("%(404 from.*$"):find(secret, 1, true), err.message)
      end
      assert.is_nil(err.message:find("(404 from [^)]*?"))
      assert.is_true(#err.message <= 500, #err.message .. " bytes")
    end
  end)

  it("names it for Copilot's login too", function()
    local adapter = koine.copilot { github_host = server.url .. "", github_token = "ghu_nobody", retry = false,
      min_request_interval = 0 }
    local _, err = adapter:chat "Hi."
    assert.are.equal(404, err.status_code)
    local place = "(404 from " .. server.url .. "/copilot_internal/v2/token)"
    assert.is_truthy(err.message:find(place, 1, true), err.message)
  end)

  it("is the only one that does", function()
    assert(server:script { { error = { status = 400, message = "bad" } } })
    assert.are.equal("bad", select(2, astray "":chat "Hi.").message)
  end)
end)
