-- Gemini's recorded answers, cut at every boundary of what they consist of, as a stream and as the array that a server
-- without `alt=sse` sends: what came is the answer, or the partial of a typed error. The recordings are not part of the
-- project: KOINE_RECORDINGS names the folder that holds them.

local core = require "koine.core"
local koine = require "koine"
local replay = require "spec.lua.codec.replay"

local directory = os.getenv "KOINE_RECORDINGS"
local FOLDER, MODEL = "gemini-generatecontent", "gemini-3-flash-preview"

-- The chunks of a recorded stream: {text = JSON, ends = where it ends in the body}. Records end with an empty line,
-- JSON without a field's name with the body.
local function chunks_of(body)
  local list, at = {}, 1
  while at <= #body do
    local from, to = body:find("\r?\n\r?\n", at)
    local record = body:sub(at, (from or #body + 1) - 1)
    list[#list + 1] = { text = record:gsub("^data: ?", ""), ends = to or #body }
    at = (to or #body) + 1
  end
  return list
end

-- Returns the reading of the first n chunks: {text, said (whether there is a partial), complete, failed}.
local function told(chunks, n)
  local seen = { text = "", said = false, complete = false, failed = false }
  for i = 1, n do
    local chunk = assert(core.decode(chunks[i].text))
    local candidate = (chunk.candidates or {})[1] or {}
    for _, part in ipairs((candidate.content or {}).parts or {}) do
      if part.text and not part.thought then seen.text = seen.text .. part.text end
    end
    seen.said = seen.said or seen.text ~= "" or chunk.responseId ~= nil
      or (chunk.usageMetadata or {}).totalTokenCount ~= nil
    seen.failed = seen.failed or chunk.error ~= nil
    seen.complete = seen.complete or candidate.finishReason ~= nil or (chunk.promptFeedback or {}).blockReason ~= nil
  end
  return seen
end

local function check(at, expected, response, err)
  if expected.complete and not expected.failed then
    assert(response, at .. ": " .. tostring(err))
    assert.are.equal(expected.text, response:text(), at)
    return
  end
  assert.is_nil(response, at)
  assert.are.equal(expected.failed and "server" or "stream_truncated", err.kind, at)
  assert.are.equal(expected.said, err.partial ~= nil, at)
  if err.partial then assert.are.equal(expected.text, err.partial:text(), at) end
end

describe("a stream of Gemini", function()
  it("is read here as chunks, of which the first ones say so much", function()
    local chunks = chunks_of('data: {"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b","thought":true}]}}]}'
      .. '\r\n\r\ndata: {"candidates":[{"finishReason":"STOP"}]}\n\n{\n"error":{}}\n')
    assert.are.equal(3, #chunks)
    assert.are.same({ text = "a", said = true, complete = false, failed = false }, told(chunks, 1))
    assert.are.same({ text = "a", said = true, complete = true, failed = false }, told(chunks, 2))
    assert.are.same({ text = "a", said = true, complete = true, failed = true }, told(chunks, 3))
  end)
end)

if not directory then return end

local names = {}
for file in require("lfs").dir(directory .. "/" .. FOLDER) do
  local name = file:match "^(.*)%.json$"
  if name and name ~= "models-list" then names[#names + 1] = name end
end
table.sort(names)

describe("a recording of Gemini, cut", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  -- Asks for an answer of these bytes, of which the first n come.
  local function ask(body, kind, n, streaming)
    assert(server:reset())
    local verb = streaming and "streamGenerateContent" or "generateContent"
    local type_ = body:find "^data:" and "text/event-stream" or "application/json"
    assert(server:script { { path = ("/v1beta/models/%s:%s"):format(MODEL, verb), fault = { [kind] = n },
      reply = { body = body, headers = { ["content-type"] = type_ } } } })
    return koine.gemini { model = MODEL, key = "test-key", base_url = server.url .. "/v1beta", retry = false }
      :chat("Hi.", { stream = streaming })
  end

  local function warns(response, code)
    for _, warning in ipairs(response and response.warnings or {}) do
      if warning.code == code then return true end
    end
    return false
  end

  it("is read up to the caller's limits and no further", function()
    for _, name in ipairs(names) do
      local recording = replay.load(directory, FOLDER, name)
      if recording.response.status == 200 and #recording.response.body > 300 then
        for _, limits in ipairs { { line = 100, event = 100 }, { body = 100 } } do
          assert(server:reset())
          assert(server:script { { replay = recording.path } })
          local response, err = koine.gemini { model = MODEL, key = "test-key", base_url = server.url .. "/v1beta",
            retry = false, limits = limits }:chat("Hi.", { stream = recording.streaming })
          if recording.streaming == (limits.body == nil) then
            assert.are.same({ nil, "limit" }, { response, err and err.kind }, name)
          end
        end
      end
    end
  end)

  for _, name in ipairs(names) do
    local recording = replay.load(directory, FOLDER, name)
    local body = recording.response.body
    local chunks = recording.streaming and chunks_of(body)

    if chunks then
      it("between its events: " .. name, function()
        for _, kind in ipairs { "end_after", "truncate_after" } do
          for i, chunk in ipairs(chunks) do
            local at, broken = ("%s %d"):format(kind, i), kind == "truncate_after"
            if chunk.ends < #body or not broken then -- a whole answer is not broken
              local response, err = ask(body, kind, chunk.ends, true)
              check(at, told(chunks, i), response, err)
              assert.are.equal(response ~= nil and broken, warns(response, "unclean_end"), at)
            end
          end
        end
      end)

      it("between the chunks of an array: " .. name, function()
        local array, ends = "[", {}
        for i, chunk in ipairs(chunks) do
          array = array .. chunk.text
          ends[i] = #array
          array = array .. (i < #chunks and "\n,\n" or "\n]")
        end
        for _, streaming in ipairs { false, true } do
          for i = 1, #chunks do
            local expected = told(chunks, i)
            expected.complete = false -- without its end
            local response, err = ask(array, "end_after", ends[i], streaming)
            check(("array %d"):format(i), expected, response, err)
            response, err = ask(array, "truncate_after", ends[i], streaming)
            check(("broken array %d"):format(i), expected, response, err)
          end
          local response, err = ask(array, "end_after", #array, streaming)
          check("whole array", told(chunks, #chunks), response, err)
          assert.are.equal(response ~= nil, warns(response, "not_a_stream"))
        end
      end)
    else
      it("behind every bracket: " .. name, function()
        for at in body:gmatch "()[%]}]" do
          for _, kind in ipairs { "end_after", "truncate_after" } do
            if at < #body and body:find("%S", at + 1) then
              local response, err = ask(body, kind, at, false)
              assert.is_nil(response)
              assert.are.same({ "stream_truncated" }, { err.kind, err.partial }, ("%s %d"):format(kind, at))
            end
          end
        end
      end)
    end
  end
end)
