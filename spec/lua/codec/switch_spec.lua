-- A conversation that changes provider: from every row to every other and back again, at every answer. The loopback
-- provider judges each request strictly: nothing that one provider signed may reach another, nothing that it wants back
-- may be missing, calls and results must pair in each wire's own way.

local core = require "koine.core"
local koine = require "koine"

local GIF = "R0lGODlhAwADAIAAAP///wAAACH5BAAAAAAALAAAAAADAAMAAAIDhI9WADs="

-- The differences between the adapters: their options, how thinking comes, and whether it can be signed or encrypted.
-- One model is there of two providers, and of each on two wires: what one of them encrypted must not reach another
-- either.
local ROWS = {
  { name = "anthropic", model = "claude-sonnet-4-5", redacted = true, signed = true, root = true },
  { name = "anthropic", model = "claude-opus-4-1", redacted = true, signed = true, root = true },
  { name = "openai", model = "gpt-5-mini", api = "responses", redacted = true, signed = true },
  { name = "openai", model = "gpt-5-mini", api = "chat", field = "reasoning_content" },
  { name = "copilot", model = "gpt-5-mini", api = "responses", redacted = true, signed = true },
  { name = "copilot", model = "gpt-5-mini", api = "chat", field = "reasoning_text", signed = true },
  { name = "mistral", model = "mistral-large-latest", field = "content" },
  { name = "deepseek", model = "deepseek-v4", field = "reasoning_content" },
  { name = "groq", model = "openai/gpt-oss-120b", field = "reasoning" },
  { name = "openrouter", model = "anthropic/claude-sonnet-4.5", field = "reasoning_details", redacted = true,
    signed = true },
  { name = "ollama", model = "qwen3:4b" },
  { name = "bedrock", model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0", redacted = true, signed = true },
  { name = "bedrock", model = "mistral.pixtral-large-2502-v1:0" },
  { name = "bedrock_claude", model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0", api = "invoke", redacted = true,
    signed = true },
  { name = "vertex_claude", model = "claude-sonnet-4-5@20250929", redacted = true, signed = true,
    base = "/v1/projects/p/locations/global/publishers/anthropic" },
  { name = "azure_claude", model = "claude-sonnet-4-5", base = "/anthropic", redacted = true, signed = true },
  { name = "gemini", model = "gemini-3.5-flash", base = "/v1beta", signed = true },
  { name = "gemini", model = "gemini-2.5-flash", base = "/v1beta", signed = true },
  { name = "vertex", model = "gemini-3.5-flash", base = "/v1/projects/p/locations/global/publishers/google",
    token = "ya29.test", signed = true },
}
for i, row in ipairs(ROWS) do
  row.mark = ("%s.%d"):format(row.name, i)
  row.title = ("%s/%s%s"):format(row.name, row.model, row.api and ", " .. row.api or "")
end

local TOOLS = {
  { name = "weather", description = "The weather.", parameters = { type = "object",
    properties = { city = { type = "string" } }, required = { "city" } } },
  { name = "clock", description = "The time.", parameters = { type = "object", properties = {} } },
}

local function text(words) return { type = "text", text = words } end

-- The assistant's answers, as a row says them. `mark` makes what is signed its own.
local function answers(row, mark)
  local function thought(n)
    return { type = "thinking", thinking = ("Thought %d of %s."):format(n, mark),
      signature = ("c2ln%d%s"):format(n, mark) }
  end
  local first = { thought(1) }
  if row.redacted then first[2] = { type = "redacted_thinking", data = "cmVk" .. mark } end
  first[#first + 1] = text "Let me look."
  first[#first + 1] = { type = "tool_use", name = "weather", arguments = { city = "Paris" } }
  first[#first + 1] = { type = "tool_use", name = "clock", arguments_json = "{ }" }
  return {
    { content = first, reasoning_field = row.field, interleave = true },
    { content = { text "It rains." }, reasoning_field = row.field },
    { content = { thought(3), { type = "tool_use", name = "weather", arguments = { city = "Oslo" } } },
      reasoning_field = row.field },
    { content = { thought(4), text "It snows." }, reasoning_field = row.field },
  }
end

-- The user's message before each of them; `calls` are the calls of the answer before.
local function user(n, calls)
  if n == 1 then
    return { text "What is this, and the weather there?", { type = "image", source = GIF, media_type = "image/gif" } }
  elseif n == 2 then
    return { { type = "tool_result", tool_use_id = calls[2].id, content = "no clock here", is_error = true },
      { type = "tool_result", tool_use_id = calls[1].id, content = { text "rain", { type = "image", source = GIF,
        media_type = "image/gif" } } }, text "Well?" }
  elseif n == 3 then
    return "And in Oslo?"
  end
  return { { type = "tool_result", tool_use_id = calls[1].id, content = "" } }
end

local SAID = { "Let me look.", "It rains.", "", "It snows.", "Good bye." }
local CALLS = { 2, 0, 1, 0, 0 }

describe("a conversation", function()
  local server

  setup(function() server = assert(koine.testing.start { copilot = { github_tokens = { "ghu_switch" } } }) end)
  teardown(function() server:stop() end)

  local function adapter_of(row)
    local options = { model = row.model, api = row.api, retry = false }
    if row.name == "copilot" then
      options.github_host, options.github_token, options.min_request_interval = server.url, "ghu_switch", 0
    else
      local at_root = row.name == "anthropic" or row.name:find "^bedrock" or row.name == "ollama"
      options.base_url = server.url .. (row.base or at_root and "" or "/v1") -- the server's root is Copilot's
      options.token, options.key = row.token, not row.token and "test-key" or nil
    end
    return koine[row.name](options)
  end

  -- The bodies of the chats that were answered; fails where the provider had something to say against a request.
  local function answered()
    local list, problems = {}, {}
    for _, request in ipairs(assert(server:requests())) do
      table.move(request.problems, 1, #request.problems, #problems + 1, problems)
      if request.status == 200 and request.method == "POST" then
        list[#list + 1] = request.body
      else -- the exchange of tokens, a token that the reset made worthless, a scripted failure
        assert(request.status == 200 or request.status == 401 or request.status == 503, request.status)
      end
    end
    assert.are.same({}, problems)
    assert.are.equal(5, #list)
    return list
  end

  -- Plays the four answers and a last question; `who(n)` is the row that gives answer n, `thinking(n)` the option of
  -- its call, `fails(n)` the row that was asked before it and failed, if any. Returns the bodies that were answered.
  local function talk(who, thinking, fails)
    assert(server:reset())
    local history, calls, script, made = {}, nil, {}, {}
    local function adapter(row)
      made[row] = made[row] or adapter_of(row)
      return made[row]
    end
    for n = 1, 5 do
      local row, failing = who(n), fails and fails(n)
      if failing then script[#script + 1] = { error = { status = 503, message = "Overloaded." } } end
      script[#script + 1] = n == 5 and { content = SAID[5] } or answers(row, row.mark)[n]
    end
    assert(server:script(script))
    for n = 1, 5 do
      local options = { tools = TOOLS, max_tokens = 9000, thinking = thinking(n), stream = n % 2 == 1 }
      history[#history + 1] = { role = "user", content = n == 5 and "Thanks." or user(n, calls) }
      local failing = fails and fails(n)
      if failing then
        local result, err = adapter(failing):chat(history, options)
        assert.is_nil(result)
        assert.are.equal("Overloaded.", err.message)
      end
      local response, err = adapter(who(n)):chat(history, options)
      if not response then error(("answer %d, %s: %s"):format(n, who(n).title, tostring(err)), 0) end
      assert.are.equal(SAID[n], response:text())
      calls = response.tool_calls
      assert.are.equal(CALLS[n], #calls)
      history[#history + 1] = response:message()
    end
    return answered()
  end

  it("is of every wire format that a row speaks", function()
    local here, all = {}, {}
    local function add(set, provider, api)
      local row = require("koine.provider.rows." .. provider)
      for name, one in pairs(row.apis or {}) do
        if not api or api == name then set[one.codec] = true end
      end
      if row.codec then set[row.codec] = true end
    end
    for _, name in ipairs(require "koine.provider.names") do add(all, name) end
    for _, row in ipairs(ROWS) do add(here, row.name, row.api) end
    assert.are.same(all, here)
  end)

  local function has(body, part) return body:find(part, 1, true) ~= nil end

  local function low() return "low" end

  -- Whether what they signed went back to those who signed it, at the last request at the latest, and to no other. The
  -- answer n was signed by who(n).
  local function check_signatures(bodies, who)
    for n = 1, 4 do
      local row, signature = who(n), ("c2ln%d%s"):format(n, who(n).mark)
      for later = n + 1, row.signed and n ~= 2 and 5 or 0 do -- the second answer has no thinking
        local own = who(later) == row
        if not own or later == 5 then assert.are.equal(own, has(bodies[later], signature), bodies[later]) end
      end
    end
    for later = 2, 5 do
      local row, first, redacted = who(later), who(1), "cmVk" .. who(1).mark
      if first.redacted and (row ~= first or later == 5) then
        assert.are.equal(row == first, has(bodies[later], redacted), bodies[later])
      end
    end
  end

  for i, from in ipairs(ROWS) do
    for k, to in ipairs(ROWS) do
      local title = ("goes from %s to %s"):format(from.title, to.title)
      local function after_first(n) return n == 1 and from or to end
      local function by_turns(n) return n % 2 == 1 and from or to end

      it(title .. " for good, between calls and their results, and back and forth", function()
        local bodies, again = talk(after_first, low), talk(by_turns, low)
        if i == k then return end
        check_signatures(bodies, after_first)
        check_signatures(again, by_turns)
      end)

      -- The answers that are away hold calls: thinking and results go both ways though the call asks for no thinking,
      -- or does not say.
      it(title .. " without thinking", function()
        talk(function(n) return (n == 1 or n == 3) and to or from end, function(n)
          if n > 2 then return false end
        end)
      end)
    end
  end

  it("goes round all adapters, one answer each", function()
    for shift = 0, #ROWS - 1 do
      talk(function(n) return ROWS[(n + shift - 1) % #ROWS + 1] end, low)
    end
  end)

  it("goes on at the next adapter when one fails, at every answer", function()
    for shift = 0, #ROWS - 1 do
      local function row(n) return ROWS[(n + shift - 1) % #ROWS + 1] end
      talk(function(n) return row(n + 1) end, low, row)
      talk(function() return row(1) end, low, function(n) return row(n + 1) end)
    end
  end)

  it("keeps text, calls and results wherever it goes", function()
    local order = {}
    for _, at in ipairs { 1, 3, 5, 7, 10 } do order[#order + 1] = ROWS[at] end
    local bodies = talk(function(n) return order[n] end, function() end)
    for n = 2, 5 do
      for _, part in ipairs { "Let me look.", "Paris", "weather", "clock" } do assert.is_true(has(bodies[n], part)) end
    end
    for n = 3, 5 do
      for _, part in ipairs { "rain", "no clock here", GIF, "It rains." } do assert.is_true(has(bodies[n], part)) end
    end
    assert.is_true(has(bodies[5], "It snows."))
    -- all calls are answered by their own ids, also where a dialect has its own form of them
    local seen = {}
    for _, message in ipairs(assert(core.decode(bodies[4])).messages) do
      for _, call in ipairs(message.tool_calls or {}) do
        assert.is_truthy(call.id:find "^%w%w%w%w%w%w%w%w%w$", call.id) -- Mistral's
        assert.is_nil(seen[call.id])
        seen[call.id] = true
      end
      if message.role == "tool" then assert.is_true(seen[message.tool_call_id]) end
    end
    assert.is_truthy(next(seen))
  end)
end)
