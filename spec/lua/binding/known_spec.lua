-- core.check(request, known): messages that passed an earlier check are not looked at again; of the others it says what
-- it says of the whole.
local core = require "koine.core"
local generator = require "spec.support.generator"

-- A block that may stand in messages of this role, as it should be or nearly.
local function block_of(pick, role, id)
  local function nearly(right, wrong) return pick(30) == 1 and wrong or right end
  local kind = pick(role == "user" and 3 or 4)
  if kind == 1 then return { type = nearly("text", "txet"), text = nearly("Hello.", 5) } end
  if role == "user" then
    if kind == 2 then return { type = "image", source = "aGk=", media_type = nearly("image/png", "png") } end
    return { type = "tool_result", tool_use_id = nearly(id, {}), content = nearly("Done.", { { type = "thinking" } }) }
  end
  if kind == 2 then return { type = "thinking", thinking = nearly("Hm.", false), signature = "s" } end
  return { type = "tool_use", id = nearly(id, 7), name = "f", arguments = nearly({ a = { 1 } }, { a = { 0 / 0 } }) }
end

local function message_of(pick, i)
  local role = pick(2) == 1 and "user" or "assistant"
  local content = {}
  for k = 1, pick(3) - 1 do content[k] = block_of(pick, role, "c" .. i) end
  if pick(40) == 1 then return "no message" end
  return { role = pick(40) == 1 and "system" or role, content = pick(5) == 1 and "Hello." or content }
end

-- What core.check raises: its field and message, "" when nothing.
local function complaint(...)
  local ok, err = pcall(core.check, ...)
  return ok and "" or ("%s %s"):format(err.field, err.message)
end

describe("a check of what is new", function()
  it("says what a check of all says, after each beginning that passed one", function()
    local compared, wrong = 0, 0
    for seed = 1, 1500 do
      local pick, messages, passed = generator(seed), {}, {}
      for i = 1, pick(8) do
        messages[i] = message_of(pick, i)
        local request = { model = "m", messages = messages, tools = pick(30) == 1 and { { name = "a b" } } or nil }
        local plain = complaint(request)
        for _, known in ipairs(passed) do
          assert.are.equal(plain, complaint(request, known), ("seed %d, %d of %d"):format(seed, known, i))
          compared = compared + 1
        end
        if plain == "" then passed[#passed + 1] = i else wrong = wrong + 1 end
      end
    end
    assert.is_true(compared > 1500 and wrong > 1000)
  end)

  it("looks at all the same once more without a list of messages", function()
    for _, messages in ipairs { 5, "x", {}, { role = "user" }, core.null } do
      assert.are.equal(complaint { messages = messages }, complaint({ messages = messages }, 3))
    end
    assert.are.equal(complaint {}, complaint({}, 3))
    assert.is_false((pcall(core.check, nil, 3)))
  end)

  it("begins where the last message of the user was, for an answer's calls need results behind it", function()
    local messages = { { role = "user", content = "x" }, { role = "assistant", content = "a" },
      { role = "assistant", content = { { type = "tool_use", id = "c", name = "f", arguments = {} } } } }
    assert.are.equal(complaint { messages = messages }, complaint({ messages = messages }, 3))
    assert.are_not.equal("", complaint({ messages = messages }, 3))
  end)
end)
