-- docs/troubleshooting.md against the code: each message that a row quotes stands in the sources, or comes when a
-- program does what the row says.

local files = require "spec.support.files"
local free_port = require "spec.support.free_port"
local koine = require "koine"

local LEAST <const> = 5 -- bytes of a piece between two "…" that are looked for

-- All texts of the sources, with strings that are put together of pieces in one.
local function sources()
  local texts = {}
  for _, place in ipairs { { "lua/koine", ".lua" }, { "src", ".c" } } do
    for _, path in ipairs(files.below(place[1], place[2])) do texts[#texts + 1] = files.read(path) end
  end
  texts[#texts + 1] = files.read "bin/koine"
  local text = table.concat(texts, "\n"):gsub('"%s*%.%.%s*"', ""):gsub('"%s*\n%s*"', ""):gsub('\\"', '"')
  return text
end

-- Messages that are Lua's or libcurl's, or made of more than one piece: what programs get.
local function produced()
  local list = {}
  local function add(ok, err)
    assert(not ok, "no failure")
    list[#list + 1] = tostring(err)
  end
  local function adapter(url, opts)
    local given = { model = "claude-sonnet-4-5", key = "test-key", base_url = url, retry = false }
    for name, value in pairs(opts or {}) do given[name] = value end
    return koine.anthropic(given)
  end
  local late = { content = "late", fault = { stall_after = 0 } }
  local server <close> = assert(koine.testing.start { script = { late, late,
    { content = "late", fault = { stall_after = 50 } } } })
  local here = adapter(server.url)
  for _, timeout in ipairs { { first_byte = 0.1 }, { total = 0.1 }, { idle = 0.1 } } do
    add(here:chat("Hello?", { timeout = timeout }))
  end
  add(adapter("http://127.0.0.1:" .. free_port()):chat "Hello?")
  add(adapter "http://no-such-host.invalid":chat "Hello?")
  add(adapter(server.url .. "/elsewhere"):chat "Hello?")
  add(pcall(function() return koine.antropic {} end))
  add(pcall(adapter, server.url, { api_key = "test-key" }))
  add(pcall(here.chat, here, "Hello?", { model = "m" }))
  add(pcall(here.chat, here, "Hello?", { tools = { { type = "web_search", name = "web_search" } } }))
  add(pcall(koine.spawn, print))
  list[#list + 1] = select(2, pcall(require, "koine_elsewhere")):gsub("_elsewhere", "")
  return table.concat(list, "\n")
end

-- The message that a row of a table quotes as a whole in its first cell, else nil.
local function quoted(line) return line:match "^| `([^`]*)` |" end

describe("the page about troubleshooting", function()
  it("quotes messages that there are", function()
    local known, count = sources() .. "\n" .. produced(), 0
    for line in files.read("docs/troubleshooting.md"):gmatch "[^\n]+" do
      for words in (quoted(line) or ""):gsub("…", "\0"):gmatch "%s*(%Z+)" do
        local piece = words:match "^(.-)%s*$"
        if #piece >= LEAST then
          count = count + 1
          assert.is_truthy(known:find(piece, 1, true), ("%q is no message: %s"):format(piece, line))
        end
      end
    end
    assert.is_true(count > 50, count .. " messages")
  end)

  it("has a cause and a way out in each row", function()
    for line in files.read("docs/troubleshooting.md"):gmatch "\n(|[^\n]+)" do
      local seen, cause, way = line:match "^| (.-) | (.-) | (.-) |$"
      assert.is_true(line:find "^|%-" ~= nil or (seen and #cause > 0 and #way > 0) == true, line)
    end
  end)
end)
