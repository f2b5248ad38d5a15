-- Values without a reference are collected: Koine does not keep a stream or a Response alive, and the provider sees
-- a dropped stream end.

local koine = require "koine"

describe("nothing keeps alive", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function adapter_of(name)
    return koine[name] { model = name == "openai" and "gpt-4.1" or "claude-sonnet-4-5", key = "test-key", retry = false,
      base_url = server.url, api = name == "openai" and "chat" or nil }
  end

  local function collect()
    collectgarbage()
    collectgarbage()
  end

  for _, name in ipairs { "anthropic", "openai" } do
    it("the Response, error and stream of an answer that is over: " .. name, function()
      assert(server:script { { content = "Hello." }, { error = { status = 400 } } })
      local kept = setmetatable({}, { __mode = "k" })
      local function answer()
        local adapter = adapter_of(name)
        local stream = assert(adapter:open "Hi")
        local response, err = stream:response()
        kept[adapter], kept[stream], kept[response or err] = true, true, true
      end
      answer()
      answer()
      collect()
      assert.is_nil(next(kept))
    end)

    it("a stream in the middle of its answer, whose connection then ends: " .. name, function()
      assert(server:script { { content = ("word "):rep(400), chunk = 5, fault = { stall_after = 3000 } } })
      local kept = setmetatable({}, { __mode = "k" })
      local function begin()
        local stream = assert(adapter_of(name):open "Hi")
        assert.is_table(stream:next())
        kept[stream] = true
      end
      begin()
      collect()
      assert.is_nil(next(kept))
      -- the provider noticed: the fault would hold the connection for ever
      local request
      for _ = 1, 1000 do
        request = assert(server:requests())[1]
        if request.closed_after then break end
      end
      assert.is_true(request.closed_after <= 3000)
    end)
  end
end)
