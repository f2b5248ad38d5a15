-- One provider, one model, several wires: what came over one of them goes back over that one alone. The loopback
-- provider refuses, on each wire, blocks that are another's.

local core = require "koine.core"
local koine = require "koine"

-- Fields that only one of the wires has: in its first answer, around a text or in it, and with the call of its second;
-- and how that is seen in a request. `row`: a provider that speaks this wire, and others elsewhere; `model`: one of
-- its.
local WIRES = {
  { api = "anthropic", block = { type = "server_tool_use", id = "srvtoolu_1", name = "web_search",
    input = { query = "moon" } }, text = { citations = core.array { { type = "char_location", cited_text = "x" } } },
    marks = { "srvtoolu_1", "citations" } },
  { api = "responses", block = { type = "web_search_call", id = "ws_1", status = "completed" },
    text = { phase = "commentary" }, call = { namespace = "sky" }, marks = { "ws_1", "phase", "namespace" } },
  { api = "chat", call = { extra_content = { google = { thought_signature = "c2ln" } } }, marks = { "extra_content" } },
  { api = "gemini", row = "gemini", model = "gemini-3.5-flash", base = "/v1beta",
    block = { executableCode = { language = "PYTHON", code = "print('own')" } },
    text = { thoughtSignature = "b3duLXRleHQ=" }, call = { partMetadata = { own = "call" } },
    marks = { "executableCode", "b3duLXRleHQ=", "partMetadata" } },
  { api = "bedrock", row = "bedrock", model = "anthropic.claude-sonnet-4-5-20250929-v1:0", base = "",
    thought = { type = "thinking", thinking = "The moon.", signature = "c2lnLWJlZHJvY2s=" },
    marks = { "c2lnLWJlZHJvY2s=" } },
  { api = "ollama", row = "ollama", model = "qwen3:4b", base = "",
    thought = { type = "thinking", thinking = "The moon." }, marks = { '"thinking":"The moon."' } },
}

-- Who the two wires are of: the provider's name and the model. nil: they are of two.
local function identity_of(from, to)
  if from.row and to.row and from ~= to then return nil end
  local known = from.row and from or to
  return { name = known.row or "one", model = known.model or "m" }
end

local TOOLS = { { name = "tide", description = "The tide.", parameters = { type = "object", properties = {} } } }

describe("a provider with several wires", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  local function adapter(wire, identity)
    if wire.row then
      return koine[wire.row] { model = identity.model, key = "test-key", retry = false,
        base_url = server.url .. wire.base }
    end
    return koine.compatible { name = identity.name, api = wire.api, model = identity.model, key = "test-key",
      retry = false, base_url = wire.api == "anthropic" and server.url or server.url .. "/v1" }
  end

  local function text(words) return { type = "text", text = words } end

  -- The answers of a wire: blocks of its own around a text, then a call with fields of its own.
  local function answers(wire)
    local first = { { type = "text", text = "High water.",
      provider_data = wire.text and { raw = core.encode(wire.text) } } }
    if wire.block then table.insert(first, 1, { type = "opaque", raw = wire.block }) end
    if wire.thought then table.insert(first, 1, wire.thought) end
    return { content = first }, { content = { { type = "tool_use", name = "tide", arguments = {},
      provider_data = wire.call and { raw = core.encode(wire.call) } } } }
  end

  -- A history of two answers over a wire, the second one answered.
  local function begun(wire, identity)
    assert(server:reset())
    local first, second = answers(wire)
    assert(server:script { first, second, { content = "a" }, { content = "b" }, { content = "c" } })
    local history = { { role = "user", content = "Look." } }
    for _, said in ipairs { "And now?", "" } do
      local response = assert(adapter(wire, identity):chat(history, { tools = TOOLS, max_tokens = 100 }))
      history[#history + 1] = response:message()
      local call = response.tool_calls[1]
      history[#history + 1] = { role = "user", content = call and { { type = "tool_result", tool_use_id = call.id,
        content = "At noon." } } or said }
    end
    return history
  end

  -- Asks over a wire; the body that was sent, without a problem.
  local function asked(wire, history, identity)
    local response, err = adapter(wire, identity):chat(history, { tools = TOOLS, max_tokens = 100 })
    assert(response, tostring(err))
    local requests = assert(server:requests())
    assert.are.same({}, requests[#requests].problems)
    return requests[#requests].body, response
  end

  for _, from in ipairs(WIRES) do
    for _, to in ipairs(WIRES) do
      local identity = identity_of(from, to)
      if identity then
        it(("goes from %s to %s and back"):format(from.api, to.api), function()
          local history = begun(from, identity)
          for _, wire in ipairs { to, from, to } do
            local body, response = asked(wire, history, identity)
            for _, mark in ipairs(from.marks) do
              assert.are.equal(wire == from, body:find(mark, 1, true) ~= nil, mark)
            end
            assert.is_truthy(body:find("High water.", 1, true))
            history[#history + 1] = response:message()
            history[#history + 1] = { role = "user", content = "Go on." }
          end
        end)
      end
    end

    local own = identity_of(from, from)

    it("names the wire in what it keeps: " .. from.api, function()
      local history, seen = begun(from, own), 0
      for _, message in ipairs(history) do
        for _, block in ipairs(message.role == "assistant" and message.content or {}) do
          local origin = block.provider_data
          if origin then
            seen = seen + 1
            assert.are.same({ own.name, own.model, from.api }, { origin.provider, origin.model, origin.wire })
          end
        end
      end
      assert.is_true(seen > 0)
    end)

    it("takes what was kept before wires were named for its own: " .. from.api, function()
      local history = begun(from, own)
      for _, message in ipairs(history) do
        for _, block in ipairs(message.role == "assistant" and message.content or {}) do
          if block.provider_data then block.provider_data.wire = nil end
        end
      end
      local body = asked(from, history, own)
      for _, mark in ipairs(from.marks) do assert.is_truthy(body:find(mark, 1, true), mark) end
    end)

    it("keeps it from another model: " .. from.api, function()
      local body = asked(from, begun(from, own), { name = own.name, model = own.model .. "-2" })
      for _, mark in ipairs(from.marks) do assert.is_nil(body:find(mark, 1, true), mark) end
    end)
  end

  it("refuses a wire that is no string", function()
    local ok, err = pcall(function()
      return adapter(WIRES[2], identity_of(WIRES[2], WIRES[2])):chat { { role = "user", content = "a" },
        { role = "assistant", content = { text "b",
          { type = "opaque", provider_data = { provider = "one", model = "m", wire = 5, raw = "{}" } } } },
        { role = "user", content = "c" } }
    end)
    assert.is_false(ok)
    assert.are.equal("messages[2].content[2].provider_data.wire", err.field)
  end)
end)
