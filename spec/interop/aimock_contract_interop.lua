-- The contract of adapters against @copilotkit/aimock, a mock by others: every wire that Koine speaks.
--
-- Each thing that aimock gets wrong, or cannot be told to play, is an exception with its name and reason. An exception
-- is run all the same and has to fail in the way it says: once aimock has learnt better, the exception fails and goes.

local aimock = require "spec.interop.support.aimock"
local exceptions = require "spec.interop.support.exceptions"
local koine = require "koine"

local MODULES = assert(os.getenv "KOINE_INTEROP", "run by: make interop") .. "/node_modules"

-- Per exception: a part of the item's name, a part of how it fails, why.
local UNPLAYED = {
  { "5. an empty reply", "content is empty string", "it takes no fixture whose text is empty" },
  { "7. words of refusal", "no fixture for a block of type refusal", "its fixtures have no refusal" },
  { "19. parallel tool calls", "no fixture for an answer's interleave", "it sends tool calls one after the other" },
  { "21. an error inside a stream", "no fixture for an answer's stream_error", "it breaks streams, but says no error" },
  { "27. an answer that does not fit is no error of the call: empty", "content is empty string",
    "it takes no fixture whose text is empty" },
}

-- It keeps requests in Chat's shape; what has no place there is lost to us, though it was sent.
local UNSEEN = {
  { "14. an image arrives", "does not carry", "its journal drops images" },
}

local UNCOUNTED = { "22. it has a name, a model, a context and a count", "Not found", "it does not count tokens" }

local ANTHROPIC = {
  { "11. is_error is delivered", "not be equal", "its journal drops is_error" },
  { "15. thinking: per call", "not be equal", "its journal drops thinking" },
  { "17. an answer goes back: signatures", "does not carry", "its journal drops thinking" },
  UNCOUNTED,
}

-- Its list of models is at /v1/models alone.
local COPILOT = { { "22. its models are complete", "Not found", "it has no list of models where Copilot has it" } }

local RESPONSES = {
  { "6. a reply cut by the cap", "equal", "it ends cut answers as completed, without incomplete_details" },
  { "7. a reply that ends in refusal (plain)", "its status is \"refusal\"", "it makes the stop reason the status" },
  { "7. a reply that ends in refusal (streamed)", "equal", "it makes the stop reason the status" },
  { "7. a reply that ends in sensitive (plain)", "Strict mode", "it says failed and no error where a filter cut" },
  { "7. a reply that ends in sensitive (streamed)", "does not say why",
    "it says failed and no error where a filter cut" },
  { "18. deltas follow the grammar", "content differs", "it makes up item ids at random, for each answer anew" },
  { "27. an answer that does not fit is no error of the call: truncated", "output_error.code",
    "it ends cut answers as completed, without incomplete_details" },
}

-- Per suite: its name, constructor, options, path of the base URL, what the wire can do, exceptions.
local SUITES = {
  { "koine.anthropic", koine.anthropic, { model = "claude-sonnet-4-5" }, "",
    { signatures = true, blocks = true, sensitive = false }, { UNPLAYED, UNSEEN, ANTHROPIC } },
  { "koine.openai, Responses", koine.openai, { model = "gpt-4.1" }, "/v1",
    { thinking = false, thinking_option = false }, { UNPLAYED, UNSEEN, RESPONSES, { UNCOUNTED } } },
  { "koine.openai, Chat", koine.openai, { model = "gpt-5", api = "chat" }, "/v1",
    { refusal = false }, { UNPLAYED } },
  { "koine.compatible, Anthropic's wire", koine.compatible, { model = "claude-opus-4-1", api = "anthropic" }, "",
    { signatures = true, blocks = true, sensitive = false }, { UNPLAYED, UNSEEN, ANTHROPIC } },
  { "koine.copilot, Chat", koine.copilot, { model = "gpt-4.1", api = "chat" }, "",
    { refusal = false, thinking = false, thinking_option = false }, { UNPLAYED, COPILOT } },
  { "koine.copilot, Responses", koine.copilot, { model = "gpt-4.1", api = "responses" }, "",
    { thinking = false, thinking_option = false }, { UNPLAYED, UNSEEN, RESPONSES, COPILOT } },
}

local server, github

local function merged(...)
  local all = {}
  for _, given in ipairs { ... } do
    for name, value in pairs(given) do all[name] = value end
  end
  return all
end

-- Copilot's first 401 is answered with a new token.
local function refused_twice(answers)
  local played = {}
  for _, answer in ipairs(answers) do
    played[#played + 1] = answer
    if answer.error and answer.error.status == 401 then played[#played + 1] = answer end
  end
  return played
end

local function suite(name, construct, options, path, supports, excepted)
  local function new(opts)
    local given = merged({ base_url = server.url .. path, key = "interop-key" }, options, opts or {})
    if construct == koine.copilot then
      given.key, given.github_host, given.github_token = nil, github.url, "ghu_loopback"
      given.min_request_interval = 0
    end
    return construct(given)
  end

  local wrapped, check = exceptions.around(it, assert, excepted)
  koine.testing.contract.describe(name, { describe = describe, it = wrapped, assert = assert, teardown = teardown,
    new = new,
    script = function(answers) server:script(construct == koine.copilot and refused_twice(answers) or answers) end,
    requests = function() return server:requests() end,
    supports = merged({ errors = true }, supports) })
  it(name .. ": every exception is one of an item", check)
end

setup(function()
  server = aimock.start(MODULES)
  github = assert(koine.testing.start { copilot = {} })
end)

teardown(function()
  server:stop()
  github:stop()
end)

for _, row in ipairs(SUITES) do suite(table.unpack(row)) end
