-- A packed turn on every wire: one message of the user, its blocks in their order, each as the wire writes it. The
-- loopback provider judges each request strictly. Blank and text-only turns on each wire are here, too.

local core = require "koine.core"
local koine = require "koine"

local PNG = "iVBORw0KGgo="

-- How each wire writes a text and an image.
local function anthropic_text(words) return { type = "text", text = words } end
local function anthropic_image()
  return { type = "image", source = { type = "base64", media_type = "image/png", data = PNG } }
end
local function chat_image() return { type = "image_url", image_url = { url = "data:image/png;base64," .. PNG } } end
local function mistral_image() return { type = "image_url", image_url = "data:image/png;base64," .. PNG } end
local function responses_text(words) return { type = "input_text", text = words } end
local function responses_image() return { type = "input_image", image_url = "data:image/png;base64," .. PNG } end

local WIRES = {
  { name = "anthropic", model = "claude-sonnet-4-5", text = anthropic_text, image = anthropic_image,
    drops_blank = true },
  { name = "openai", model = "gpt-4.1", api = "chat", text = anthropic_text, image = chat_image, joins = true },
  { name = "openai", model = "gpt-4.1", api = "responses", text = responses_text, image = responses_image },
  { name = "copilot", model = "gpt-4.1", api = "chat", text = anthropic_text, image = chat_image, joins = true },
  { name = "copilot", model = "gpt-5-mini", api = "responses", text = responses_text, image = responses_image },
  { name = "mistral", model = "mistral-large-latest", text = anthropic_text, image = mistral_image, joins = true },
  { name = "openrouter", model = "openai/gpt-4.1", text = anthropic_text, image = chat_image, joins = true },
  { name = "compatible", model = "m", api = "anthropic", text = anthropic_text, image = anthropic_image,
    drops_blank = true },
}

local ANN = '{"schema":"openab.sender.v1","sender_id":"U1","sender_name":"ann","display_name":"Ann","channel":"slack",'
  .. '"channel_id":"C1","is_bot":false}'
local BOB = '{"schema":"openab.sender.v1","sender_id":"U2","sender_name":"bob","display_name":"\\u003cBob\\u003e",'
  .. '"channel":"slack","channel_id":"C1","is_bot":true}'
local D_ANN = "<sender_context>\n" .. ANN .. "\n</sender_context>"
local D_BOB = "<sender_context>\n" .. BOB .. "\n</sender_context>"
local VOICE = "[Voice message transcript]: can we sync about the deploy"

local ann = { sender_id = "U1", sender_name = "ann", display_name = "Ann", channel = "slack", channel_id = "C1",
  is_bot = false }
local bob = { sender_id = "U2", sender_name = "bob", display_name = "<Bob>", channel = "slack", channel_id = "C1",
  is_bot = true }

local function voice() return { type = "text", text = VOICE } end
local function image() return koine.image { source = PNG, media_type = "image/png" } end

describe("a packed turn", function()
  local server

  setup(function() server = assert(koine.testing.start { copilot = { github_tokens = { "ghu_turn" } } }) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    assert(server:script "echo")
  end)

  local function adapter_of(wire)
    local options = { model = wire.model, api = wire.api, retry = false }
    if wire.name == "copilot" then
      options.github_host, options.github_token, options.min_request_interval = server.url, "ghu_turn", 0
    else
      options.base_url = server.url .. (wire.drops_blank and "" or "/v1") -- the server's root is Copilot's
      options.key = "test-key"
    end
    return koine[wire.name](options)
  end

  -- The chats that were answered, as tables; fails where the provider had something to say against one. (A token that
  -- the reset made worthless is refused, and exchanged.)
  local function arrived()
    local bodies = {}
    for _, request in ipairs(assert(server:requests())) do
      assert.are.same({}, request.problems)
      if request.status == 200 and request.method == "POST" then bodies[#bodies + 1] = core.decode(request.body) end
    end
    return bodies
  end

  -- The content of the one message that arrives when the batch is packed and sent as a user's message.
  local function sent(wire, batch, opts)
    local content = koine.packing.pack(batch, opts)
    assert(adapter_of(wire):chat({ { role = "user", content = content } }, { max_tokens = 100 }))
    local bodies = arrived()
    assert.are.equal(1, #bodies)
    local messages = bodies[1].messages or bodies[1].input
    assert.are.equal(1, #messages)
    assert.are.equal("user", messages[1].role)
    return messages[1].content
  end

  for _, wire in ipairs(WIRES) do
    local title = ("%s%s: "):format(wire.name, wire.api and ", " .. wire.api or "")
    local text = wire.text

    it(title .. "three events with voice and images, split", function()
      local batch = { { sender = ann, prompt = "look at this", extras = { image() } },
        { sender = bob, prompt = "", extras = { voice() } },
        { sender = ann, prompt = "what?", extras = { image(), voice(), image() } } }
      assert.are.same({ text(D_ANN), text "look at this", wire.image(), text(D_BOB), text(VOICE), text(D_ANN),
        text(VOICE), text "what?", wire.image(), wire.image() }, sent(wire, batch))
    end)

    it(title .. "the same, combined", function()
      local batch = { { sender = ann, prompt = "look at this", extras = { image() } },
        { sender = bob, prompt = "", extras = { voice() } },
        { sender = ann, prompt = "what?", extras = { image(), voice(), image() } } }
      assert.are.same({ text(D_ANN .. "\n\nlook at this"), wire.image(), text(D_BOB .. "\n\n"), text(VOICE),
        text(D_ANN .. "\n\nwhat?"), wire.image(), text(VOICE), wire.image() },
        sent(wire, batch, { layout = "combined" }))
    end)

    it(title .. "text only", function()
      local content = sent(wire, { { sender = ann, prompt = "one" }, { sender = bob, prompt = "two" } })
      if wire.joins then -- one string, for servers that take no parts
        assert.are.equal(D_ANN .. "\n\none\n\n" .. D_BOB .. "\n\ntwo", content)
      else
        assert.are.same({ text(D_ANN), text "one", text(D_BOB), text "two" }, content)
      end
    end)

    it(title .. "an event with an empty prompt is its delimiter", function()
      local content = sent(wire, { { sender = ann, prompt = "", extras = { image() } }, { sender = bob, prompt = "" } })
      assert.are.same({ text(D_ANN), wire.image(), text(D_BOB) }, content)
    end)

    it(title .. "spaces only", function()
      local content = sent(wire, { { sender = ann, prompt = "  ", extras = { image() } },
        { sender = bob, prompt = "x" } })
      local expected = { text(D_ANN), text "  ", wire.image(), text(D_BOB), text "x" }
      if wire.drops_blank then table.remove(expected, 2) end -- refused there; the envelope stays
      assert.are.same(expected, content)
    end)
  end

  it("keeps spaces on Anthropic's wire where the layout is combined", function()
    local content = sent(WIRES[1], { { sender = ann, prompt = "  " }, { sender = bob, prompt = "x" } },
      { layout = "combined" })
    assert.are.same({ anthropic_text(D_ANN .. "\n\n  "), anthropic_text(D_BOB .. "\n\nx") }, content)
  end)

  it("stays one message in a conversation, and the next turn another", function()
    local talk = koine.conversation(adapter_of(WIRES[1]))
    assert(talk:ask((koine.packing.pack { { sender = ann, prompt = "one" }, { sender = bob, prompt = "two" } })))
    assert(talk:ask((koine.packing.pack { { sender = bob, prompt = "three" } })))
    local messages = arrived()[2].messages
    assert.are.equal(3, #messages)
    assert.are.same({ anthropic_text(D_ANN), anthropic_text "one", anthropic_text(D_BOB), anthropic_text "two" },
      messages[1].content)
    assert.are.same({ anthropic_text(D_BOB), anthropic_text "three" }, messages[3].content)
  end)

  it("is refused, not thinned, where the provider takes no images", function()
    local cerebras = koine.cerebras { model = "gpt-oss-120b", key = "test-key", base_url = server.url .. "/v1" }
    local blocks = koine.packing.pack { { sender = ann, prompt = "see", extras = { image() } } }
    local ok, err = pcall(cerebras.chat, cerebras, { { role = "user", content = blocks } })
    assert.is_false(ok)
    assert.are.equal("messages[1].content[3]", err.field)
    assert.are.same({}, (server:requests()))
  end)
end)
