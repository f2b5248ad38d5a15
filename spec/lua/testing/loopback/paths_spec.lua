-- The paths of the loopback provider: those that the rows' own base URLs make, and no other.

local client = require "spec.support.raw_client"
local koine = require "koine"
local paths = require "koine.testing.loopback.paths"
local rows = require "koine.provider"

local exchange, KEYS, BEARER = client.exchange, client.KEYS, client.BEARER
local BODY = '{"model":"m","messages":[{"role":"user","content":"Hi."}],"max_tokens":9}'

describe("koine.testing: paths", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  -- The path of a chat, behind the base URL.
  local function path_of(name, api)
    local adapter = koine[name] { model = "m", key = "k", api = api, base_url = server.url }
    local messages = { { role = "user", content = "Hi." } }
    return (select(5, adapter:render { model = "m", stream = false, messages = messages }))
  end

  -- Every row's own addresses: {name, base URL, path of a chat}.
  local function addresses()
    local list = {}
    for _, name in ipairs(rows.names) do
      local row = rows.load(name)
      for key, api in pairs(row.apis or { row }) do
        local base = api.base_url or row.base_url
        local prefix = base and base:match "^https?://[^/]+(.*)$"
        if prefix then list[#list + 1] = { name, prefix, path_of(name, row.apis and key) } end
      end
    end
    return list
  end

  it("serve what each provider's own base URL makes", function()
    local list = addresses()
    assert.is_true(#list > 15, #list .. " addresses")
    for _, one in ipairs(list) do
      local answer = exchange(server, "POST", one[2] .. one[3], KEYS, BODY)
      assert.are_not.equal(404, answer.status, one[1] .. ": " .. one[2] .. one[3])
    end
  end)

  it("serve Azure's, with any name of a deployment", function()
    assert(server:script "echo")
    for _, base in ipairs { "/openai/v1", "/openai/deployments/mine", "/openai/deployments/mine?api-version=1" } do
      local azure = koine.azure { model = "m", key = "k", api = "chat", base_url = server.url .. base }
      assert.are.equal("You said: Hi.", assert(azure:chat "Hi."):text())
    end
  end)

  -- Paths of a base URL without its version, of one with it twice, and of a typing error.
  local WRONG = {
    { "anthropic", "/v1", "/v1/v1/messages" }, { "anthropic", "/v1/messages", "/v1/messages/v1/messages" },
    { "anthropic", "/claude", "/claude/v1/messages" },
    { "openai", "/v1/chat/completions", "/v1/chat/completions/responses" },
    { "openai", "/v1/v1", "/v1/v1/responses" }, { "groq", "/v2", "/v2/chat/completions" },
    { "groq", "/v1/", "/v1/chat/completions", true }, { "llamacpp", "/v1x", "/v1x/chat/completions" },
  }

  it("fail a wrong base_url, and say what was asked and what there is", function()
    for _, case in ipairs(WRONG) do
      local name, base, path, right = table.unpack(case)
      assert(server:reset())
      assert(server:script { { content = "never" } })
      local adapter = koine[name] { model = "m", key = "test-key", base_url = server.url .. base, retry = false }
      local response, err = adapter:chat "Hi."
      local request = server:requests()[1]
      assert.are.equal(path, request.path)
      if right then
        assert.are.equal("never", response:text())
      else
        assert.are.equal("not_found", err.kind, name .. base)
        assert.is_truthy(err.message:find("POST " .. server.url .. path .. ": no such path", 1, true), err.message)
        local there = name == "anthropic" and "there are /v1/messages" or name == "openai" and "/v1/responses"
          or "/v1/chat/completions"
        assert.is_truthy(err.message:find(there, 1, true), err.message)
        assert.are.equal(1, #request.problems)
      end
    end
  end)

  it("hold for counts and models too", function()
    for path, status in pairs { ["/v1/models"] = 200, ["/models"] = 200, ["/api/v1/models/loopback-01"] = 200,
      ["/v2/models"] = 404, ["/v1/v1/models"] = 404, ["/v2/models/loopback-01"] = 404 } do
      assert.are.equal(status, exchange(server, "GET", path, BEARER).status, path)
    end
    for path, status in pairs { ["/v1/messages/count_tokens"] = 200, ["/v2/messages/count_tokens"] = 404 } do
      assert.are.equal(status, exchange(server, "POST", path, KEYS,
        '{"model":"m","messages":[{"role":"user","content":"Hi."}]}').status, path)
    end
    assert.are.equal(404, exchange(server, "POST", "/v2/responses/input_tokens", BEARER, "{}").status)
    assert.are.equal(404, exchange(server, "POST", "/v1/nothing", BEARER, "{}").status)
  end)

  it("are more where an answer names one: its own, with counts and models beside it", function()
    assert(server:script { { content = "one", path = "/own/v1/messages" }, { content = "two" } })
    local adapter = koine.anthropic { model = "loopback-01", key = "test-key", base_url = server.url .. "/own" }
    assert.are.equal("one", assert(adapter:chat "Hi."):text())
    assert.are.equal("two", assert(adapter:chat "Hi."):text()) -- the next of the others
    assert.is_true(assert(adapter:count_tokens "Hi.") > 0)
    assert.are.equal(25, #assert(adapter:list_models()))
    assert(server:script { { content = "three" } })
    assert.are.equal("not_found", select(2, adapter:chat "Hi.").kind)
  end)

  it("are those that each endpoint says, the longer one first, with any name in the place of MODEL", function()
    local places, find = paths.places { one = { paths = { "/talk" }, count_path = "/all/talk" },
      other = { paths = { "/models/MODEL:talk", "/models/MODEL:stream.it" } } }
    local suffixes = {}
    for i, place in ipairs(places) do suffixes[i] = place.suffix end
    assert.are.same({ "/models/MODEL:stream.it", "/models/MODEL:talk", "/all/talk", "/talk" }, suffixes)
    for path, expected in pairs { ["/v1/talk"] = "one false /v1", ["/v1/all/talk"] = "one true /v1",
      ["/v1/models/m-1:talk"] = "other false /v1", ["/models/a%2Fb:stream.it"] = "other false ",
      ["/models/a:streamxit"] = "nothing", ["/models/:talk"] = "nothing", ["/models/a/b:talk"] = "nothing",
      ["/v1/talks"] = "nothing" } do
      local place, prefix = find(path)
      local found = place and ("%s %s %s"):format(place.wire, place.counts, prefix) or "nothing"
      assert.are.equal(expected, found, path)
    end
  end)
end)
