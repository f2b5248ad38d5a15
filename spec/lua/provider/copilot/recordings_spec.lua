-- Copilot's list of models as it was recorded, against what was read in it by hand. The recordings are not part of the
-- project: KOINE_RECORDINGS names the folder that holds them. Without it only what is expected of them is tested.

local koine = require "koine"

local directory = os.getenv "KOINE_RECORDINGS"

-- The models for a conversation, in the list's order: 17 of 39 entries. None says what a request costs.
local PICKED = { "claude-opus-4.7", "claude-opus-4.8", "claude-sonnet-4.6", "gemini-3.1-pro-preview",
  "gemini-3.5-flash", "gpt-5.3-codex", "gpt-5.4-mini", "gpt-5.4", "gpt-5.5", "mai-code-1-flash-picker", "gpt-5-mini",
  "claude-sonnet-4.5", "claude-opus-4.5", "claude-haiku-4.5", "gemini-3-flash-preview", "gemini-2.5-pro",
  "oswe-vscode-prime" }

-- Some of them in full, each another kind of entry.
local EXPECTED = {
  { -- not permitted; another endpoint, which Koine does not use
    id = "claude-opus-4.7", name = "Claude Opus 4.7", max_context_tokens = 264000, supports_vision = true,
    supports_tool_use = true, supports_streaming = true, extra = {
      limits = { max_output_tokens = 64000, max_prompt_tokens = 200000 },
      supports = { parallel_tool_calls = true, adaptive_thinking = true,
        reasoning_effort = { "low", "medium", "high", "xhigh", "max" } },
      supported_endpoints = { "/v1/messages", "/chat/completions" }, policy = { state = "disabled" },
      vendor = "Anthropic", tokenizer = "o200k_base", preview = false },
  },
  { -- no policy
    id = "gpt-5.3-codex", name = "GPT-5.3-Codex", max_context_tokens = 400000, supports_vision = true,
    supports_tool_use = true, supports_streaming = true, extra = {
      limits = { max_output_tokens = 128000, max_prompt_tokens = 272000 },
      supports = { parallel_tool_calls = true, reasoning_effort = { "low", "medium", "high", "xhigh" } },
      supported_endpoints = { "/responses", "ws:/responses" }, vendor = "OpenAI", tokenizer = "o200k_base",
      preview = false },
  },
  { -- no images
    id = "mai-code-1-flash-picker", name = "MAI-Code-1-Flash", max_context_tokens = 256000, supports_vision = false,
    supports_tool_use = true, supports_streaming = true, extra = {
      limits = { max_output_tokens = 128000, max_prompt_tokens = 128000 },
      supports = { parallel_tool_calls = true, reasoning_effort = { "low", "medium", "high" } },
      supported_endpoints = { "/responses" }, policy = { state = "enabled" }, vendor = "Azure OpenAI",
      tokenizer = "o200k_base", preview = false },
  },
  { -- no endpoints, a preview
    id = "gemini-3-flash-preview", name = "Gemini 3 Flash (Preview)", max_context_tokens = 128000,
    supports_vision = true, supports_tool_use = true, supports_streaming = true, extra = {
      limits = { max_output_tokens = 64000, max_prompt_tokens = 128000 },
      supports = { parallel_tool_calls = true, reasoning_effort = { "low", "medium", "high" } },
      policy = { state = "enabled" }, vendor = "Google", tokenizer = "o200k_base", preview = true },
  },
  { -- no efforts
    id = "oswe-vscode-prime", name = "Raptor mini (Preview)", max_context_tokens = 264000, supports_vision = true,
    supports_tool_use = true, supports_streaming = true, extra = {
      limits = { max_output_tokens = 64000, max_prompt_tokens = 200000 },
      supports = { parallel_tool_calls = true }, supported_endpoints = { "/chat/completions", "/responses" },
      policy = { state = "enabled" }, vendor = "Azure OpenAI", tokenizer = "o200k_base", preview = true },
  },
}

describe("the expectations about Copilot's list", function()
  it("names entries in full that may be picked", function()
    local picked = {}
    for _, id in ipairs(PICKED) do
      assert.is_nil(picked[id])
      picked[id] = true
    end
    for _, entry in ipairs(EXPECTED) do assert.is_true(picked[entry.id], entry.id) end
  end)
end)

if directory then
  describe("the recorded list of Copilot's models", function()
    local server
    local TOKEN = "ghu_recorded_list"

    setup(function() server = assert(koine.testing.start { copilot = { github_tokens = { TOKEN } } }) end)
    teardown(function() server:stop() end)

    local function copilot(model)
      return koine.copilot { model = model, github_host = server.url, github_token = TOKEN, min_request_interval = 0 }
    end

    local function listed()
      assert(server:script { { path = "/models", replay = directory .. "/copilot-models/list.json" } })
      return assert(copilot("gpt-4.1"):list_models())
    end

    it("gives the models to be picked, in its order, no price made up", function()
      local ids = {}
      for i, info in ipairs(listed()) do
        ids[i] = info.id
        assert.is_nil(info.premium_request_multiplier, info.id)
        assert.is_nil(info.pricing, info.id)
      end
      assert.are.same(PICKED, ids)
      assert.are.equal(17, #ids)
    end)

    it("says of each what it can do, and keeps what the wire says besides", function()
      local by_id = {}
      for _, info in ipairs(listed()) do by_id[info.id] = info end
      for _, expected in ipairs(EXPECTED) do
        local info = assert(by_id[expected.id], expected.id)
        local plain = {}
        for name, value in pairs(info) do plain[name] = value end
        assert.are.same(expected, plain)
      end
    end)

    it("decides where a model is spoken to", function()
      listed()
      assert(server:copilot { models = { { id = "mai-code-1-flash-picker", endpoints = { "/responses" } },
        { id = "gpt-5.4", endpoints = { "/chat/completions", "/responses" } },
        { id = "gpt-5.4-mini", endpoints = { "/responses" } } } })
      for model, path in pairs { ["mai-code-1-flash-picker"] = "/responses", ["gpt-5.4"] = "/chat/completions",
        ["gpt-5.4-mini"] = "/responses" } do
        assert(server:script "echo")
        assert(copilot(model):chat "Hi")
        local requests = assert(server:requests())
        assert.are.equal(path, requests[#requests].path, model)
        assert.are.equal(200, requests[#requests].status)
      end
    end)
  end)
end
