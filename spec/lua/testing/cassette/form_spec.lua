-- Cassettes that somebody edited, in every way that is wrong: each is refused with the path of what is wrong, and no
-- request goes anywhere.

local core = require "koine.core"
local files = require "koine.data.files"
local http = require "koine.net.http"
local kit = require "spec.lua.testing.cassette.kit"

-- A cassette that is right, with every field.
local function whole()
  return { format = "koine.cassette.v1", koine = "0.1.0", recorded = "2026-01-01T00:00:00Z",
    exchanges = core.array {
      { request = { method = "POST", url = "http://127.0.0.1:1/a", headers = { accept = "a" }, body = "text" },
        response = { status = 200, headers = { date = "today" }, body = "abc", chunks = { { 1, 1 }, { 2.5, 2 } } } },
      { request = { method = "POST", url = "http://127.0.0.1:1/b", headers = {}, body_base64 = "AP8=" },
        response = { status = 200, headers = {}, body_base64 = "AP8=", left = true } },
      { request = { method = "GET", url = "http://127.0.0.1:1/c", headers = {} },
        response = { error = { kind = "connect", code = "reset", message = "reset", after = 3 } } } },
    programs = core.array { { command = "server", args = core.array { "--now" }, ended = { ms = 9, code = 3 },
      lines = core.array { { ms = 1, sent = { id = 1, method = "ping" } }, { ms = 2, came = { id = 1, result = {} } },
        { ms = 3, logged = "done" } } } } }
end

local WRONG = { core.array { 1 }, { a = 1 }, 12, -1.5, true, "\255", core.null, "word" }

-- The table and the last name of a path "exchanges[1].request.url".
local function place(tape, path)
  local names = {}
  for name in path:gmatch "[^.%[%]]+" do names[#names + 1] = math.tointeger(name) or name end
  for i = 1, #names - 1 do tape = tape[names[i]] end
  return tape, names[#names]
end

-- What finish says of a tape; the requests of one that is taken are played as well.
local function judge(tape)
  assert(files.write(kit.path, core.encode(tape)))
  local opened = kit.open { mode = "replay", match = function() return true end, repeats = true }
  for _ = 1, #(type(tape.exchanges) == "table" and tape.exchanges or {}) do
    http.send { url = "http://127.0.0.1:1/", transport = opened }
  end
  local again = kit.open { mode = "replay" }
  http.send { url = "http://127.0.0.1:1/other", method = "POST", body = "{}", transport = again }
  again:program({ argv = { "server", "--now" }, secrets = {} }, error)
  local _, err = again:finish()
  return err.message
end

describe("a cassette that was edited", function()
  before_each(kit.begin)
  after_each(kit.restore)

  it("is taken where it is right", function()
    assert.is_truthy(judge(whole()):find("no recording of POST http://127.0.0.1:1/other", 1, true))
  end)

  it("is refused by the path of a field that is missing", function()
    for _, path in ipairs { "exchanges[1].request", "exchanges[1].request.method", "exchanges[2].request.url",
      "exchanges[1].response", "exchanges[3].response.error.kind", "programs[1].command", "programs[1].lines",
      "programs[1].lines[1].ms", "programs[1].ended.ms", "exchanges" } do
      local tape = whole()
      local inner, name = place(tape, path)
      inner[name] = nil
      local message = judge(tape)
      assert.is_truthy(message:find(path .. ": ", 1, true), path .. " → " .. message)
    end
    for path, words in pairs {
      ["exchanges[1].response.status"] = "exchanges[1].response: status, error or left expected",
      ["programs[1].lines[2].came"] = "programs[1].lines[2]: one of sent, came and logged expected" } do
      local tape = whole()
      local inner, name = place(tape, path)
      inner[name] = nil
      assert.is_truthy(judge(tape):find(words, 1, true), path)
    end
  end)

  it("is taken, or refused by the path, whatever a field holds", function()
    for _, path in ipairs { "format", "exchanges", "exchanges[1]", "exchanges[1].request",
      "exchanges[1].request.method", "exchanges[1].request.url", "exchanges[1].request.headers",
      "exchanges[1].request.headers.accept", "exchanges[1].request.body", "exchanges[1].request.json",
      "exchanges[2].request.body_base64",
      "exchanges[1].response", "exchanges[1].response.status", "exchanges[1].response.headers",
      "exchanges[1].response.headers.date", "exchanges[1].response.body", "exchanges[1].response.chunks",
      "exchanges[1].response.chunks[1]", "exchanges[1].response.chunks[1][1]", "exchanges[1].response.chunks[2][2]",
      "exchanges[2].response.body_base64", "exchanges[2].response.left", "exchanges[3].response.error",
      "exchanges[3].response.error.kind", "exchanges[3].response.error.code", "exchanges[3].response.error.message",
      "exchanges[3].response.error.after", "exchanges[1].recorded", "programs", "programs[1]", "programs[1].command",
      "programs[1].args", "programs[1].args[1]", "programs[1].lines", "programs[1].lines[1]", "programs[1].lines[1].ms",
      "programs[1].lines[1].sent", "programs[1].lines[2].came", "programs[1].lines[3].logged", "programs[1].ended",
      "programs[1].ended.ms", "programs[1].ended.code" } do
      for i, value in ipairs(WRONG) do
        local tape = whole()
        local inner, name = place(tape, path)
        inner[name] = value
        local message = judge(tape)
        local parent = path:gsub("%.%w+$", ""):gsub("%b[]$", "")
        assert.is_truthy(message:find("no recording of", 1, true) or message:find(path, 1, true)
          or message:find(parent:gsub("%b[]$", ""), 1, true), ("%s[%d] → %s"):format(path, i, message))
      end
    end
  end)

  it("is refused where the chunks are not those of the body", function()
    for words, chunks in pairs { ["they make up 4 bytes, and the body has 3 (who edits"] = { { 0, 2 }, { 1, 2 } },
      ["a pair of milliseconds, which rise"] = { { 2, 1 }, { 1, 2 } } } do
      local tape = whole()
      tape.exchanges[1].response.chunks = chunks
      local message = judge(tape)
      assert.is_truthy(message:find("exchanges[1].response.chunks", 1, true), message)
      assert.is_truthy(message:find(words, 1, true), message)
    end
  end)

  it("is refused where it is no such file at all", function()
    for words, text in pairs { ["no JSON object (a number"] = "12", ["no JSON object (a string"] = '"x"',
      ["no JSON object"] = "", ["format nil"] = "[]", ["format a string"] = '{"format":"koine.cassette.v2"}' } do
      assert(files.write(kit.path, text))
      local _, err = kit.open({ mode = "replay" }):finish()
      assert.are.same({ "connect", "cassette" }, { err.kind, err.code })
      assert.is_truthy(err.message:find(words, 1, true) or err.message:find("no JSON object", 1, true)
        or err.message:find("no cassette that this version can read", 1, true), err.message)
      assert.are.equal(1, select(2, err.message:gsub("cassette /", "")))
      assert.are.equal("cassette", select(2, require("koine").testing.cassette.check(kit.path)).code)
    end
  end)
end)
