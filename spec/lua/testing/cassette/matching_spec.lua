-- Cassettes: which recorded answer a request gets, and what an error says where there is none.

local core = require "koine.core"
local kit = require "spec.lua.testing.cassette.kit"
local koine = require "koine"
local request = require "koine.testing.cassette.request"

-- The form in which a call with this body is compared, and its key.
local function key_of(body, settings)
  local kept = request.kept({ method = "POST", url = "https://user:pass@host/v1?a=1", body = body,
    headers = { ["anthropic-version"] = "1", authorization = "Bearer x" } }, {}, {}, {})
  return request.key(request.compared(kept, settings or { ignore = request.IGNORED }))
end

-- Plays one request on a cassette of these exchanges: the text, or the error's message.
local function ask(tape, prompt, more)
  local options = { stream = true }
  for name, value in pairs(more or {}) do options[name] = value end
  local r, err = kit.claude(tape):chat(prompt, options)
  return r and r:text() or err.message
end

describe("a request on a cassette", function()
  before_each(kit.begin)
  after_each(kit.restore)

  it("is found in any order, and equal ones one after the other", function()
    kit.write { kit.exchange("a", kit.response "1"), kit.exchange("b", kit.response "2"),
      kit.exchange("a", kit.response "3") }
    local tape = kit.open { mode = "replay" }
    assert.are.equal("2", ask(tape, "b"))
    assert.are.equal("1", ask(tape, "a"))
    assert.are.equal("3", ask(tape, "a"))
    assert.is_truthy(ask(tape, "a"):find("all equal ones were played (repeats = true", 1, true))
    tape = kit.open { mode = "replay", repeats = true }
    local texts = {}
    for i = 1, 4 do texts[i] = ask(tape, "a") end
    assert.are.same({ "1", "3", "3", "3" }, texts)
  end)

  it("that was changed is refused, with the place and both values", function()
    kit.write { kit.exchange("What is the weather?", kit.response "Fine."), kit.exchange("Else", kit.response "x") }
    local function refused(prompt, more, adapter)
      local tape = kit.open { mode = "replay" }
      local _, err = kit.claude(tape, adapter):chat(prompt, more)
      assert.are.same({ "connect", "cassette", false }, { err.kind, err.code, err.retryable })
      return err.message
    end
    local message = refused("What is the time?", { stream = true })
    assert.is_truthy(message:find("POST https://api.anthropic.com/v1/messages", 1, true))
    assert.is_truthy(message:find('nearest is exchanges[1], where messages[1].content[1].text is '
      .. '"What is the weather?" and not "What is the time?"', 1, true), message)
    message = refused("What is the weather?", { stream = true, tools = { { name = "t", description = "d",
      parameters = { type = "object", properties = core.decode "{}" } } } })
    assert.is_truthy(message:find("exchanges[1], where tools is nothing and not [{", 1, true), message)
    message = refused("What is the weather?", { stream = true }, { model = "claude-opus-4-1" })
    assert.is_truthy(message:find('where model is "claude-sonnet-4-5" and not "claude-opus-4-1"', 1, true), message)
    message = refused("What is the weather?", { stream = false })
    assert.is_truthy(message:find("where stream is true and not ", 1, true), message)
    local tape = kit.open { mode = "replay" }
    message = select(2, tape:begin { method = "GET", url = "https://elsewhere.example/x" }).message
    assert.is_truthy(message:find('GET https://elsewhere.example/x', 1, true))
    kit.write {}
    assert.is_truthy(ask(kit.open { mode = "replay" }, "x"):find("it has no recordings", 1, true))
  end)

  it("is the same with other spaces, another order of keys, and the same numbers", function()
    assert.are.equal(key_of '{"a":1,"b":[1.0,2],"c":{"x":null,"y":"é"}}',
      key_of '{ "c": {"y":"\\u00e9", "x":null},\n"b":[1,2.0], "a":1e0 }')
    for _, other in ipairs { '{"a":2}', '{"a":"1"}', '{"a":[1]}', '{"a":1,"b":null}' } do
      assert.are_not.equal(key_of '{"a":1}', key_of(other))
    end
    assert.are.equal(key_of '{"a":1}', key_of '{"a":1,"user":"me","metadata":{"user_id":"7"}}')
    assert.are_not.equal(key_of '{"a":1}', key_of '{"a":1,"metadata":{"other":"7"}}')
    assert.are_not.equal(key_of "{}", key_of "[]")
    assert.are_not.equal(key_of "x=1", key_of "x=2")
    assert.is_nil(key_of("{}"):find("pass", 1, true))
  end)

  it("has the same key in every process", function()
    local program = [[local r = require "koine.testing.cassette.request"
      io.write(r.key(r.compared(r.kept({ method = "POST", url = "u", body = %q, headers = { a = "1", accept = "2",
        ["anthropic-beta"] = "b", ["anthropic-version"] = "v" } }, {}, {}, {}), { ignore = {} })))]]
    local lua = ("LUA_PATH=%q LUA_CPATH=%q %s -e '%s'"):format(package.path, package.cpath,
      os.getenv "KOINE_LUA" or "lua5.4", program:format '{"z":{"b":1,"a":2,"c":3},"d":1,"k":[{"y":1,"x":2}]}')
    local first
    for _ = 1, 3 do
      local pipe = assert(io.popen(lua))
      local key = pipe:read "a"
      pipe:close()
      first = first or key
      assert.are.equal(first, key)
    end
    assert.is_true(#first > 50)
  end)

  it("has its large media by their hash", function()
    local image = core.base64_encode(("\137PNG\r\n\26\n" .. ("x"):rep(3000)))
    local function kept(data)
      return request.kept({ method = "POST", url = "u", body = core.encode { source = data } }, {}, {}, {}).json.source
    end
    local media = kept(image)["$media"]
    assert.are.same({ "image/png", 3008, 64 }, { media.type, media.bytes, #media.sha256 })
    assert.are.same({ type = "image/gif", bytes = 3008, sha256 = media.sha256 },
      kept("data:image/gif;base64," .. image)["$media"])
    assert.are.equal("short", kept "short")
    assert.are_not.equal(key_of(core.encode { image }), key_of(core.encode { image:gsub("^.", "j") }))
  end)

  it("is compared as the caller says", function()
    kit.write { kit.exchange("a", kit.response "1") }
    local function text_of(options, base, prompt)
      options.mode = "replay"
      local tape = kit.open(options)
      local r, err = kit.claude(tape, { base_url = base }):chat(prompt or "a", { stream = true })
      return r and r:text() or err.code
    end
    assert.are.equal("cassette", text_of({}, "http://127.0.0.1:9"))
    assert.are.equal("1", text_of({ match = { host = false } }, "http://127.0.0.1:9"))
    assert.are.equal("1", text_of({ ignore = { "messages" } }, nil, "other"))
    local seen
    assert.are.equal("1", text_of({ match = function(sent, recorded)
      seen = { sent.json.messages[1].content[1].text, recorded.json.messages[1].content[1].text }
      return true
    end }, nil, "other"))
    assert.are.same({ "other", "a" }, seen)
  end)
end)

describe("a cassette", function()
  before_each(kit.begin)
  after_each(kit.restore)

  it("serves lists of models and embeddings", function()
    kit.write { { request = { method = "GET", url = "https://api.openai.com/v1/models" },
      response = { status = 200, headers = { ["content-type"] = "application/json" },
        body = '{"data":[{"id":"gpt-4.1"}]}' } },
      { request = { method = "POST", url = "https://api.openai.com/v1/embeddings", json = { model = "m",
        input = { "x" }, encoding_format = "base64" } },
        response = { status = 200, body = '{"data":[{"index":0,"embedding":"AACAPwAAAEA="}],"usage":{}}' } } }
    local tape = kit.open { mode = "replay" }
    local openai = koine.openai { model = "m", key = "12345678", transport = tape }
    assert.are.equal("gpt-4.1", assert(openai:list_models())[1].id)
    assert.are.equal("0.447", ("%.3f"):format(assert(openai:embed("x", { model = "m" })).vectors[1][1]))
    assert(tape:finish())
  end)
end)
