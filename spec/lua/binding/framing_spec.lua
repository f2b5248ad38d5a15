-- The framing of a streamed answer: render names one that is not the codec's, start cuts the body with it.

local core = require "koine.core"
local koine = require "koine"
local raised = require "spec.support.raised"
local raw_server = require "spec.support.raw_server"

local REQUEST = { model = "m", stream = true, messages = { { role = "user", content = "Hi." } } }

local function framing_of(adapter, what, codec) return (select(6, adapter:render(REQUEST, what, codec))) end

describe("a framing", function()
  it("is named by render where it is not the codec's", function()
    local adapter = koine.anthropic { model = "m", key = "k" }
    for _, codec in ipairs { "anthropic", "chat", "responses" } do
      assert.is_nil(framing_of(adapter, "chat", codec))
    end
    assert.is_nil(framing_of(adapter, "count"))
  end)

  it("is the codec's where start is told none, and raises where it is not known", function()
    local body = 'id: 1\nretry: 10\n\ndata: {"choices":[{"delta":{"content":"Hi."},"finish_reason":"stop"}]}\n\n' ..
      "id: 2\n\ndata: [DONE]\n\n"
    local function start(url, framing)
      return koine.compatible { model = "m", base_url = url }:start { method = "POST", url = url, headers = {},
        body = "{}", stream = true, framing = framing }
    end
    for i = 1, 2 do
      local server = raw_server.start(raw_server.answer(200, body))
      local stream <close> = assert(start(server.url, i == 1 and "sse" or nil))
      local delta, err
      repeat
        core.engine():step(1)
        delta, err = stream:poll()
      until delta or err
      assert.are.equal("text_start", assert(delta, err).type)
      server:requests()
    end
    for _, name in ipairs { "ss", "sse2", "" } do
      local err = raised(start, "http://127.0.0.1:1", name)
      assert.are.same({ "framing", "the name of a framing" }, { err.field, err.expected })
    end
  end)
end)
