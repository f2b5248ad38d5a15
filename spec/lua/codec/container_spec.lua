-- The container in which Anthropic runs code, and the citations that a document can be asked for, against the loopback
-- provider: what comes with an answer goes back with its message, to where it came from and nowhere else.

local core = require "koine.core"
local koine = require "koine"
local loopback = require "spec.support.loopback"

local BOX = { id = "container_011", expires_at = "2099-01-01T00:00:00Z" }
local RAN = { type = "opaque", raw = { type = "server_tool_use", id = "srvtoolu_1", name = "code_execution",
  input = { code = "1+1" } } }

describe("a container", function()
  local kit = loopback.new()
  local script, bodies = kit.script, kit.bodies
  local claude = kit.maker("anthropic", { model = "claude-sonnet-4-5", key = "test-key" })
  local server

  setup(function() server = kit.start() end)
  teardown(kit.stop)

  -- A history of one answered message, and its Response.
  local function begun(options)
    local history = { { role = "user", content = "Run it." } }
    local response = assert(claude():chat(history, options))
    history[2] = response:message()
    history[3] = { role = "user", content = "Again." }
    return history, response
  end

  local AGAIN = { content = "Done.", container = BOX }

  for _, streaming in ipairs { false, true } do
    it("comes with the answer and goes back with its message, " .. (streaming and "streamed" or "plain"), function()
      script({ content = { RAN, { type = "text", text = "2" } }, container = BOX }, AGAIN, AGAIN)
      local history, response = begun { stream = streaming }
      assert.are.same(BOX, response.container)
      assert.are.same(BOX, response:to_table().container)
      assert.are.same({ provider = "anthropic", model = "claude-sonnet-4-5", wire = "anthropic", container = BOX },
        { provider = response.content[1].provider_data.provider, model = response.content[1].provider_data.model,
          wire = response.content[1].provider_data.wire, container = response.content[1].provider_data.container })
      history[4] = assert(claude():chat(history)):message()
      history[5] = { role = "user", content = "And again." }
      assert(claude():chat(history))
      local sent = bodies()
      assert.are.same({ BOX.id, BOX.id }, { sent[2].container, sent[3].container })
      assert.is_nil(sent[1].container)
    end)
  end

  it("goes back where nothing ran in the answer, and after a dump", function()
    script({ content = "Nothing to run.", container = BOX }, AGAIN)
    local talk = koine.conversation(claude())
    assert(talk:ask "Hi")
    local json = core.encode(talk:dump())
    assert(koine.conversation.load(claude(), core.decode(json)):ask "Again.")
    assert.are.equal(BOX.id, bodies()[2].container)
  end)

  it("is the latest that came", function()
    local other = { id = "container_022", expires_at = BOX.expires_at }
    script({ content = { RAN }, container = BOX }, { content = "x", container = other }, { content = "y" })
    local history = begun()
    history[4] = assert(claude():chat(history)):message()
    history[5] = { role = "user", content = "Go on." }
    assert(claude():chat(history))
    assert.are.equal(other.id, bodies()[3].container)
  end)

  it("goes to no other model, provider or wire", function()
    script({ content = { RAN, { type = "text", text = "2" } }, container = BOX }, { content = "a" }, { content = "b" },
      { content = "c" })
    local history = begun()
    assert(claude { model = "claude-opus-4-1" }:chat(history))
    assert(koine.compatible { name = "other", api = "anthropic", model = "claude-sonnet-4-5", key = "k",
      base_url = server.url }:chat(history, { max_tokens = 10 }))
    assert(koine.compatible { name = "anthropic", api = "responses", model = "claude-sonnet-4-5", key = "k",
      base_url = server.url }:chat(history))
    for i = 2, 4 do assert.is_nil(bodies()[i].container) end
  end)

  it("takes the caller's word first, and joins the caller's skills", function()
    local skills = { skills = { { type = "anthropic", skill_id = "xlsx", version = "latest" } } }
    script({ content = { RAN }, container = BOX }, { content = "a" }, { content = "b" }, { content = "c" })
    local history = begun()
    assert(claude():chat(history, { extra = { container = skills } }))
    assert(claude():chat(history, { extra = { container = koine.null } }))
    local response = assert(claude():chat(history, { extra = { container = BOX.id } }))
    assert.are.same({}, response.warnings)
    local sent = bodies()
    assert.are.same({ id = BOX.id, skills = skills.skills }, sent[2].container)
    assert.are.equal(koine.null, sent[3].container)
    assert.are.equal(BOX.id, sent[4].container)
  end)

  it("is left out once when the provider does not have it any more, and says so", function()
    script({ content = { RAN }, container = BOX }, { error = { status = 400,
      message = "Container container_011 has expired." } }, { content = "a" })
    local response = assert(claude():chat((begun())))
    assert.are.equal("a", response:text())
    assert.are.same({ "container_dropped" }, { response.warnings[1].code })
    assert.are.equal(2, #response.attempts)
    local sent = bodies()
    assert.are.same({ BOX.id }, { sent[2].container, sent[3].container })
  end)

  it("is left out after an untold failure once it is past its date, and before it is not", function()
    for _, case in ipairs { { "2020-01-01T00:00:00.123Z", true }, { BOX.expires_at, false } } do
      script({ content = { RAN }, container = { id = BOX.id, expires_at = case[1] } },
        { error = { status = 500, message = "Internal server error" } }, { content = "a" })
      local response = claude():chat((begun()))
      assert.are.equal(case[2], response ~= nil)
    end
  end)

  it("can be in a Response that an adapter's author makes, as a table", function()
    local response = koine.response { content = "x", model = "m", stop_reason = "end_turn", container = BOX }
    assert.are.same(BOX, response.container)
    local ok, err = pcall(koine.response, { content = "x", model = "m", stop_reason = "end_turn", container = "c" })
    assert.are.same({ false, "container" }, { ok, err.field })
  end)

  it("is no part of an answer that has none", function()
    script { content = "x" }
    local response = assert(claude():chat "Hi")
    assert.is_nil(response.container)
    assert.is_nil(response.content[1].provider_data)
  end)
end)

describe("citations of a document", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    assert(server:script { { content = "ok" } })
  end)

  local function paper(citations)
    return koine.document { source = koine.base64 "Water is wet.", media_type = "text/plain", title = "Water",
      citations = citations }
  end

  -- Returns the block that was sent for the document, and the answer's warnings.
  local function sent(adapter, document)
    local question = { role = "user", content = { document, { type = "text", text = "Is it?" } } }
    local response = assert(adapter:chat({ question }, { max_tokens = 100 }))
    local request = assert(server:requests())[1]
    assert.are.same({}, request.problems)
    local body = core.decode(request.body)
    return (body.messages or body.input)[1].content[1], response.warnings
  end

  it("are asked for", function()
    local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = server.url }
    local block, warnings = sent(claude, paper { enabled = true })
    assert.are.same({ enabled = true }, block.citations)
    assert.are.same({}, warnings)
  end)

  it("are not asked for unasked", function()
    local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = server.url }
    assert.is_nil(sent(claude, paper()).citations)
  end)

  for _, api in ipairs { "chat", "responses" } do
    it("are left out with a warning where there are none: " .. api, function()
      local gpt = koine.openai { model = "gpt-4.1", key = "k", base_url = server.url, api = api }
      local block, warnings = sent(gpt, paper { enabled = true })
      assert.is_nil(block.citations)
      assert.are.same({ "unsupported_option", "citations" }, { warnings[1].code, warnings[1].field })
    end)
  end

  it("are {enabled = boolean} and nothing else", function()
    for value, field in pairs { [true] = "document.citations", [{}] = "document.citations",
      [{ enabled = 1 }] = "document.citations" } do
      local ok, err = pcall(koine.document, { source = "QQ==", media_type = "text/plain", citations = value })
      assert.are.same({ false, field }, { ok, err.field })
    end
    local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = server.url }
    local ok, err = pcall(claude.chat, claude, { { role = "user", content = { { type = "document", source = "QQ==",
      media_type = "text/plain", citations = { enabled = "yes" } } } } })
    assert.are.same({ false, "messages[1].content[1].citations.enabled" }, { ok, err.field })
  end)
end)
