-- Counts of tokens on the spans of recorded answers: as the wire counts them, cached tokens among the input; what is
-- not known is absent. KOINE_RECORDINGS names the folder of the recordings, which are no part of the project.

local koine = require "koine"
local new_spans = require "koine.observe.otlp.span"
local receiver = require "spec.lua.observe.otlp.receiver"
local replay = require "spec.lua.codec.replay"

local directory = os.getenv "KOINE_RECORDINGS"

-- By wire: the field that counts all of the input, where the wire has one.
local WHOLE_INPUT = { chat = "prompt_tokens", responses = "input_tokens" }

-- The greatest number of that name in a body; nil where it has none.
local function greatest(body, name)
  local most
  for digits in body:gmatch('"' .. name .. '"%s*:%s*(%d+)') do
    local n = math.tointeger(tonumber(digits))
    if not most or n > most then most = n end
  end
  return most
end

-- What the attributes of a span should be, of the counts of a Response.
local function expected(usage)
  local input = usage.input_tokens
  return { ["gen_ai.usage.input_tokens"] = input and input + (usage.cache_read_tokens or 0)
      + (usage.cache_creation_tokens or 0), ["gen_ai.usage.output_tokens"] = usage.output_tokens,
    ["gen_ai.usage.cache_read.input_tokens"] = usage.cache_read_tokens,
    ["gen_ai.usage.cache_creation.input_tokens"] = usage.cache_creation_tokens,
    ["gen_ai.usage.reasoning.output_tokens"] = usage.reasoning_tokens }
end

if not directory then
  describe("OTLP's span of a recorded answer", function()
    it("is not here: set KOINE_RECORDINGS", function() assert.is_nil(directory) end)
  end)
  return
end

describe("OTLP's span of a recorded answer", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  -- The attributes of the span of a recording, its outcome and what was recorded.
  local function span_of(folder, name)
    local spans, chat = new_spans(false), nil
    local recording = replay.load(directory, folder, name)
    local outcome = replay.run(server, recording, { observer = function(record) chat = spans:take(record) or chat end })
    return receiver.plain(chat.attributes), outcome, recording
  end

  for _, folder in ipairs(replay.folders) do
    it("has its counts: " .. folder, function()
      for _, path in ipairs(replay.all(directory, "^" .. folder:gsub("%p", "%%%0") .. "/")) do
        local of, outcome, recording = span_of(folder, path:match "/(.*)$")
        local usage = outcome.response and outcome.response.usage or {}
        local counts = {}
        for key, value in pairs(of) do
          if key:find("^gen_ai%.usage") then counts[key] = value end
        end
        if outcome.response then assert.are.same(expected(usage), counts, path) end
        local field = WHOLE_INPUT[folder:match "%-(%a+)$"]
        if field and outcome.response and of["gen_ai.usage.input_tokens"] then
          assert.are.equal(greatest(recording.response.body, field), of["gen_ai.usage.input_tokens"], path)
        end
        assert.are.equal(outcome.err and outcome.err.kind, of["error.type"], path)
      end
    end)
  end
end)
