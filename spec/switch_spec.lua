-- A conversation that changes provider: from every row to every other and back again, at every turn. The loopback
-- provider judges each request strictly: nothing that one provider signed may reach another, nothing that it wants back
-- may be missing, calls and results must pair in each wire's own way.

local core = require "koine.core"
local koine = require "koine"

local GIF = "R0lGODlhAwADAIAAAP///wAAACH5BAAAAAAALAAAAAADAAMAAAIDhI9WADs="

-- What differs between the rows: how thinking comes, and whether it can be encrypted.
local ROWS = {
  { name = "anthropic", model = "claude-sonnet-4-5", redacted = true, signed = true },
  { name = "anthropic", model = "claude-opus-4-1", redacted = true, signed = true },
  { name = "openai", model = "gpt-5.1", field = "reasoning_content" },
  { name = "mistral", model = "mistral-large-latest", field = "content" },
  { name = "deepseek", model = "deepseek-v4", field = "reasoning_content" },
  { name = "groq", model = "openai/gpt-oss-120b", field = "reasoning" },
  { name = "openrouter", model = "anthropic/claude-sonnet-4.5", field = "reasoning_details", redacted = true,
    signed = true },
}

local TOOLS = {
  { name = "weather", description = "The weather.", parameters = { type = "object",
    properties = { city = { type = "string" } }, required = { "city" } } },
  { name = "clock", description = "The time.", parameters = { type = "object", properties = {} } },
}

local function text(words) return { type = "text", text = words } end

-- The assistant's turns, as a row says them. `mark` makes what is signed its own.
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

-- What the user says before each of them; `calls` are the calls of the turn before.
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

describe("a conversation", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  local function adapter_of(row)
    return koine[row.name] { model = row.model, key = "test-key", base_url = server.url, retry = false,
      api = row.name == "openai" and "chat" or nil }
  end

  -- Plays the four turns and a last question; `who(n)` is the row that answers turn n. Returns the bodies sent.
  local function talk(who, thinking)
    assert(server:reset())
    local history, calls, script, made = {}, nil, {}, {}
    for n = 1, 5 do
      local row = who(n)
      script[n] = n == 5 and { content = "Good bye." } or answers(row, row.name .. #row.model)[n]
      made[row] = made[row] or adapter_of(row)
    end
    assert(server:script(script))
    for n = 1, 5 do
      history[#history + 1] = { role = "user", content = n == 5 and "Thanks." or user(n, calls) }
      local response, err = made[who(n)]:chat(history, { tools = TOOLS, max_tokens = 9000, thinking = thinking,
        stream = n % 2 == 1 })
      if not response then error(("turn %d, %s: %s"):format(n, who(n).name, tostring(err)), 0) end
      assert.are.equal(n == 5 and "Good bye." or table.concat { n == 1 and "Let me look." or n == 2 and "It rains."
        or n == 4 and "It snows." or "" }, response:text())
      calls = response.tool_calls
      assert.are.equal(({ 2, 0, 1, 0, 0 })[n], #calls)
      history[#history + 1] = response:message()
    end
    local bodies = {}
    for i, request in ipairs(assert(server:requests())) do
      assert.are.same({}, request.problems)
      assert.are.equal(200, request.status)
      bodies[i] = request.body
    end
    assert.are.equal(5, #bodies)
    return bodies
  end

  local function has(body, part) return body:find(part, 1, true) ~= nil end

  for i, from in ipairs(ROWS) do
    for k, to in ipairs(ROWS) do
      local title = ("goes from %s/%s to %s/%s"):format(from.name, from.model, to.name, to.model)
      for _, thinking in ipairs { false, "low" } do
        it(title .. (thinking and " thinking" or ""), function()
          local mark = from.name .. #from.model
          for away = 1, 4 do -- and back again
            local bodies = talk(function(n) return n == away and to or from end, thinking)
            local last = bodies[5]
            if from.signed and i ~= k then
              for n = 1, 4 do
                -- never shown to another, and there again for the one who signed it
                if n ~= 2 and n < away then assert.is_false(has(bodies[away], ("c2ln%d%s"):format(n, mark))) end
                if n ~= 2 and n ~= away then assert.is_true(has(last, ("c2ln%d%s"):format(n, mark)), last) end
              end
              if from.redacted and away ~= 1 then assert.is_true(has(last, "cmVk" .. mark)) end
            end
            if to.signed and i ~= k then assert.is_false(has(last, "c2ln" .. away .. to.name .. #to.model)) end
          end
        end)
      end

      it(title .. " for good", function()
        for leaves = 2, 5 do
          talk(function(n) return n < leaves and from or to end)
        end
      end)
    end
  end

  it("goes round all rows, one turn each", function()
    for shift = 0, #ROWS - 1 do
      talk(function(n) return ROWS[(n + shift - 1) % #ROWS + 1] end, "low")
    end
  end)

  it("keeps text, calls and results wherever it goes", function()
    local bodies = talk(function(n) return ROWS[n] end)
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
