-- Requests of an adapter: headers, repaired text, addresses.

local adapter_kit = require "spec.lua.call.adapter.kit"
local core = require "koine.core"
local koine = require "koine"
local raised = require "spec.support.raised"

local last = adapter_kit.last

describe("an adapter", function()
  local kit = adapter_kit.new()
  local claude, gpt, requests = kit.claude, kit.gpt, kit.requests
  local server

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(function() kit.begin() end)
  after_each(kit.restore)

  describe("wrong use", function()
    it("is told at the caller's line: a Response or a hole among the messages", function()
      assert(server:script { { content = "a" } })
      local response = assert(claude():chat "Hi")
      for got, messages in next, {
        ["a Response"] = { { role = "user", content = "a" }, response },
        nothing = { { role = "user", content = "a" }, nil, { role = "user", content = "b" } },
      } do
        local err = raised(function()
          local answer = claude():chat(messages)
          return answer
        end)
        assert.are.same({ "ArgumentError", "messages[2]" }, { err.class, err.field })
        assert.is_truthy(err.message:find("requests_spec.lua:%d+: messages%[2%]: .*, got " .. got .. "$"))
      end
    end)

    it("is told at the caller's line: a dot in place of a colon", function()
      assert(server:script { { content = "a" } })
      local adapter, stream = claude(), assert(claude():open "Hi")
      for _, f in ipairs { adapter.chat, adapter.open, stream.next, stream.response, stream.close } do
        local err = raised(function()
          local answer = f "Hi"
          return answer
        end)
        assert.are.same({ "ArgumentError", "self" }, { err.class, err.field })
        assert.is_truthy(err.message:find "requests_spec.lua:%d+: self: a.* stream %(.*colon")
      end
      stream:close()
    end)
  end)

  describe("headers", function()
    it("of the caller win over the row's, whatever their case", function()
      assert(server:script { { content = "a" } })
      assert(claude({ headers = { ["X-Team"] = "red", ["User-Agent"] = "mine/1" } }):chat("Hi",
        { headers = { ["x-team"] = "blue", ["x-more"] = "1" } }))
      local headers = last(requests()).headers
      assert.are.equal("blue", headers["x-team"])
      assert.are.equal("1", headers["x-more"])
      assert.are.equal("mine/1", headers["user-agent"])
      assert.are.equal("test-key-1", headers["x-api-key"])
    end)

    it("that let the request in replace the key", function()
      assert(server:script { { content = "a" } })
      local adapter = koine.anthropic { model = "m", base_url = server.url,
        headers = { Authorization = "Bearer token-1" } }
      assert.is_true(adapter:authenticated())
      assert(adapter:chat "Hi")
      local headers = last(requests()).headers
      assert.are.equal("Bearer token-1", headers.authorization)
      assert.is_nil(headers["x-api-key"])
    end)

    it("of betas are joined with the caller's", function()
      assert(server:script { { content = "a" } })
      assert(claude({ headers = { ["anthropic-beta"] = "b-2,b-3" } }):chat("Hi", { betas = { "b-1", "b-2" } }))
      assert.are.equal("b-1,b-2,b-3", last(requests()).headers["anthropic-beta"])
    end)
  end)

  describe("text that is no UTF-8", function()
    -- A stray byte, a surrogate, an overlong form, a character cut short.
    local BAD = "a\xFFb\xED\xA0\x80c\xC0\xAFd\xF0\x9F\x98"

    local function nested() return { [BAD] = { BAD, { [BAD] = BAD } } } end

    local function call(id, fields)
      fields.type, fields.id, fields.name, fields.arguments = "tool_use", id, "add", fields.arguments or nested()
      return fields
    end

    local function result(id, content)
      return { type = "tool_result", tool_use_id = id, content = content, is_error = true }
    end

    it("goes out repaired, wherever it stands, keys too", function()
      local read = core.decode('{"x":"' .. BAD .. '"}')
      for _, adapter in ipairs { claude(), gpt(), koine.openrouter { model = "m" }, koine.mistral { model = "m" } } do
        local state = core.state(adapter)
        local function own(raw) return { provider = state.row.name, model = state.model, raw = raw } end
        local body = adapter:render { model = state.model, stream = false, system = BAD, stop_sequences = { BAD },
          metadata = { user_id = BAD }, extra = nested(),
          tools = { { name = "add", description = BAD, parameters = { type = "object", properties = nested() } } },
          messages = {
            { role = "user", content = { { type = "text", text = BAD } } },
            { role = "assistant", content = {
              { type = "thinking", thinking = BAD, signature = BAD, provider_data = own() },
              { type = "text", text = BAD, provider_data = own('{"citations":["' .. BAD .. '"]}') },
              { type = "refusal", text = BAD },
              { type = "opaque", kind = "x", provider_data = own('{"type":"x","y":"' .. BAD .. '"}') },
              call("a" .. BAD, {}), call("b", { arguments_json = '{"x":"' .. BAD .. '"}', arguments = read }),
              call("c", { arguments_json = '{"x' .. BAD, arguments_error = "cut" }) } },
            { role = "user", content = { result("a" .. BAD, BAD), result("b", { { type = "text", text = BAD } }),
              result("c", "x") } } } }
        assert.is_truthy(utf8.len(body), body)
        assert.is_truthy(body:find("a\u{FFFD}b", 1, true))
        assert.is_truthy(core.decode(body))
      end
    end)
  end)

  describe("addresses", function()
    it("join the queries of base URL and path", function()
      local url = require("koine.call.attempt").url
      assert.are.equal("http://h/a/models/m?alt=sse", url("http://h/a", "/models/m?alt=sse"))
      assert.are.equal("http://h/a/models/m?key=1", url("http://h/a?key=1", "/models/m"))
      assert.are.equal("http://h/a/models/m?alt=sse&key=1&x=?", url("http://h/a?key=1&x=?", "/models/m?alt=sse"))
      assert.are.equal("http://h/a/models/m", url("http://h/a?", "/models/m"))
    end)

    it("keep a query behind the path", function()
      assert(server:script { { content = "a" } })
      local base_url = server.url .. "/openai/deployments/d?api-version=2024-06-01"
      assert(koine.azure({ model = "m", base_url = base_url, key = "k" }):chat "Hi")
      assert.are.equal("/openai/deployments/d/chat/completions?api-version=2024-06-01", last(requests()).target)
    end)
  end)
end)
