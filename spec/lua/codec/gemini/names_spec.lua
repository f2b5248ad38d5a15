-- Tools whose names Gemini refuses as they are: they are declared, chosen, called and answered under others, which the
-- caller never sees.

local koine = require "koine"

describe("a tool's name that begins with a digit or -", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function tool(name)
    return { name = name, description = "d", parameters = { type = "object", properties = {} } }
  end

  for _, name in ipairs { "3d", "-x", "9", "_3d", ("9"):rep(64), "_a" } do
    it(("goes to Gemini and comes back: %s"):format(name), function()
      local adapter = koine.gemini { key = "k12345678", model = "gemini-3-pro", base_url = server.url .. "/v1beta",
        retry = false }
      local wire = name:find "^_*[%d-]" and "_" .. name or name
      assert(server:script { { content = { { type = "tool_use", id = "a", name = wire, arguments = {} } } },
        { content = "done" } })
      local options = { tools = { tool(name), tool "other" }, tool_choice = { type = "tool", name = name } }
      local history = { { role = "user", content = "Call it." } }
      local r = assert(adapter:chat(history, options))
      assert.are.equal(name, r.tool_calls[1].name)
      history[2] = r:message()
      local result = koine.tool_result { tool_use_id = r.tool_calls[1].id, content = "1" }
      history[3] = { role = "user", content = { result } }
      assert.are.equal("done", assert(adapter:chat(history, { tools = options.tools })):text())
    end)
  end

  it("in a history of another provider is no end of the conversation", function()
    local adapter = koine.gemini { key = "k12345678", model = "gemini-3-pro", base_url = server.url .. "/v1beta",
      retry = false }
    assert(server:script { { content = "done" } })
    assert(adapter:chat { { role = "user", content = "Call it." },
      { role = "assistant", content = { { type = "tool_use", id = "a", name = "1abc", arguments = {} } } },
      { role = "user", content = { { type = "tool_result", tool_use_id = "a", content = "1" } } } })
  end)
end)
