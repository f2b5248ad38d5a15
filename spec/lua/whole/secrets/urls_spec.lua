-- A provider's answer may repeat the address that it was asked at, with the key in its query, in any spelling. None of
-- them shows in an error, on none of the wires.

local koine = require "koine"
local kit = require "spec.lua.whole.secrets.kit"

local KEY = kit.KEY

local function each_byte(format)
  return function(text) return (text:gsub(".", function(c) return format:format(c:byte()) end)) end
end
local function escape(format)
  return function(text) return (text:gsub("[^%w%-._~]", function(c) return format:format(c:byte()) end)) end
end

-- Spellings of a key in a URL that stands in a text.
local SPELLINGS = {
  plain = function(text) return text end,
  upper = escape "%%%02X",
  lower = escape "%%%02x",
  twice = function(text) return escape "%%%02X"(escape "%%%02X"(text)) end,
  whole = each_byte "%%%02X",
  json = each_byte "\\u%04x",
  both = function(text) return (escape "%%%02X"(text):gsub("%%", "\\u0025")) end,
}

local SSE, NDJSON, FRAMES = "text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream"

-- How each provider is reached on the loopback interface; `stream`: the type of its streams.
local WIRES = {
  gemini = { options = { key = KEY }, path = "/v1beta", stream = SSE },
  ["vertex in express mode"] = { name = "vertex", options = { key = KEY }, path = "/v1/publishers/google",
    stream = SSE },
  vertex = { options = { token = KEY, project = "p", location = "global" },
    path = "/v1/projects/p/locations/global/publishers/google", stream = SSE },
  vertex_claude = { options = { token = KEY, project = "p", location = "global" },
    path = "/v1/projects/p/locations/global/publishers/anthropic", stream = SSE },
  ollama = { options = { key = KEY }, path = "", stream = NDJSON },
  bedrock = { options = { key = KEY, region = "us-east-1" }, path = "", stream = FRAMES },
  bedrock_claude = { options = { key = KEY, region = "us-east-1" }, path = "/anthropic", stream = SSE },
  ["bedrock_claude's invoke"] = { name = "bedrock_claude", path = "", stream = FRAMES,
    options = { key = KEY, region = "us-east-1", api = "invoke" } },
  bedrock_openai = { options = { key = KEY, region = "us-east-1" }, path = "/openai/v1", stream = SSE },
  azure_claude = { options = { key = KEY, resource = "r" }, path = "/anthropic", stream = SSE },
}

describe("a key in a URL that an answer repeats", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function adapter_of(title)
    local wire = WIRES[title]
    local given = { model = "m", base_url = server.url .. wire.path, retry = false }
    for name, value in pairs(wire.options) do given[name] = value end
    return koine[wire.name or title](given)
  end

  -- The error of a chat that is answered so: no part of the key is in it.
  local function refused(title, stream, reply)
    assert(server:script { { reply = reply } })
    local r, err = adapter_of(title):chat("Hi", { stream = stream })
    assert.is_nil(r, title)
    kit.assert_clean(err)
    assert.is_nil(err.message:find("%%[46]%x%%"), err.message) -- nor spelt in digits
    return err
  end

  for title, wire in pairs(WIRES) do
    it("does not show on the wire of " .. title, function()
      for spelling, spell in pairs(SPELLINGS) do
        local url = ("http://h/v1/models/m:chat?key=%s&alt=sse"):format(spell(KEY))
        local text = ('"no model at %s"'):format(url)
        for _, stream in ipairs { false, true } do
          for _, status in ipairs { 403, 404 } do
            for _, body in ipairs { '{"error":{"code":404,"message":%s,"status":"NOT_FOUND"}}', '{"message":%s}',
              '{"error":%s}', '[{"error":{"message":%s}}]', "%s",
              '{"error":{"message":"no","details":[{"reason":%s,"metadata":{"url":%s}}]}}' } do
              local err = refused(title, stream, { status = status, headers = { ["content-type"] = "application/json" },
                body = body:gsub("%%s", function() return text end) })
              if body == '{"message":%s}' then
                assert.is_truthy(err.message:find("?key=[redacted]", 1, true), spelling .. ": " .. err.message)
              end
            end
          end
          refused(title, stream, { status = 404, headers = { ["content-type"] = "text/html" },
            body = "<html><title>404: " .. url .. "</title></html>" })
          refused(title, stream, { status = 404, headers = { ["content-type"] = "application/json",
            ["x-request-id"] = url, ["x-amzn-requestid"] = url, ["x-amzn-errortype"] = url, location = url,
            ["www-authenticate"] = url }, body = "{}" })
        end
        assert(server:script { { content = "It is " .. url,
          stream_error = { message = url, code = url, after = 2 } } })
        local r, err = adapter_of(title):chat("Hi", { stream = true })
        assert.is_nil(r)
        kit.assert_clean(err)
        for _, body in ipairs { 'data: {"error":{"code":404,"message":%s}}\n\n', '{"error":%s}\n', "%s", '{"a":%s',
          "event: %s\ndata: {}\n\n" } do
          refused(title, true, { status = 200, headers = { ["content-type"] = wire.stream },
            body = body:gsub("%%s", function() return text end) })
        end
      end
    end)
  end

  it("does not show in the warnings of an answer that succeeds", function()
    for _, spell in pairs(SPELLINGS) do
      local url = "http://h/?key=" .. spell(KEY)
      for _, body in ipairs { '{"candidates":[{"content":{},"finishReason":"NEW","finishMessage":"%s"}]}',
        '{"candidates":[{"content":{},"finishReason":"%s"}]}',
        '{"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"%s"}}' } do
        assert(server:script { { reply = { status = 200, headers = { ["content-type"] = "application/json" },
          body = body:gsub("%%s", function() return url end) } } })
        local r = assert(adapter_of "gemini":chat "Hi")
        assert.is_truthy(r.warnings[1].message:find("[redacted]", 1, true), r.warnings[1].message)
        for _, warning in ipairs(r.warnings) do kit.assert_clean(warning) end
      end
    end
  end)
end)
