-- The examples with values, vectors and observers, run as a reader would run them, with the loopback provider in the
-- place of the real ones.

local files = require "spec.support.files"
local folder = require "spec.support.folder"
local kit = require "spec.lua.whole.examples.kit"
local koine = require "koine"
local raw_server = require "spec.support.raw_server"

local LUA, WITH_KEYS, output_of = kit.LUA, kit.WITH_KEYS, kit.output_of

describe("the example", function()
  local server
  local tested = {}

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)
  after_each(function()
    for _, request in ipairs(assert(server:requests())) do assert.are.same({}, request.problems) end
  end)

  it("extract makes a table of a file's paragraphs, and tells what is none", function()
    local path = folder.new()
    files.write(path .. "/notes.txt", "Ada Lovelace, 1815, London.\n\nBuy bread.\n\n \nGrace Hopper of New York.\n")
    local usage = { input_tokens = 50, output_tokens = 10, cache_read_tokens = 0 }
    local function answer(content) return { content = content, usage = usage } end
    assert(server:script { answer '{"name":"Ada Lovelace","born":1815,"city":"London"}', answer "None.",
      answer "Still none.", answer '{"name":"Grace Hopper","city":"New York"}' })
    local text, ok = output_of(WITH_KEYS:format(server.url .. "/v1") .. LUA .. " examples/extract.lua " .. path
      .. "/notes.txt 'name, born? int, city' openai/gpt-4.1 1")
    tested.extract = true
    folder.remove(path)
    assert.is_true(ok, text)
    assert.are.equal("name          born  city\n------------  ----  --------\nAda Lovelace  1815  London\n"
      .. "Grace Hopper        New York\n[4 answers, 200 tokens in, 40 out, 0.0007 USD]\n",
      (text:gsub('"Buy bread[^\n]*\n', "")))
    assert.is_truthy(text:find('"Buy bread.": the answer is not JSON: it begins with "Still none."', 1, true), text)
  end)

  it("form fills in", function()
    assert(server:script { { content = '{"sender":"Grace Hopper","street":"5 Harbour Street",'
      .. '"city":"Arlington","order":4711,"wants":"replacement","summary":"A kettle does not boil."}', chunk = 3,
      usage = { input_tokens = 9, output_tokens = 30 }, model = "m-1" } })
    local text, ok = output_of(WITH_KEYS:format(server.url) .. LUA .. " examples/form.lua")
    assert.is_true(ok, text)
    tested.form = true
    local frames = {}
    for frame in (text .. "\27[6A"):gmatch "(.-)\27%[6A" do frames[#frames + 1] = frame:gsub("\27%[K", "") end
    assert.are.equal("sender   \nstreet   \ncity     \norder    \nwants    \nsummary  \n", frames[1])
    assert.is_true(#frames > 20)
    assert.are.equal("sender   Grace Hopper\nstreet   5 Harbour Street\ncity     Arlington\norder    4711\n"
      .. "wants    replacement\nsummary  A kettle does not boil.\n[m-1, 30 tokens out]\n", frames[#frames])
    assert.is_truthy(assert(server:requests())[1].body:find("order 4711", 1, true))
  end)

  it("observe logs, adds up and sends what an agent does", function()
    local call = { type = "tool_use", name = "dice", arguments = { count = 3 } }
    assert(server:script { { content = { call } }, { content = "Nine." } })
    local taken, path = raw_server.answer(200, "{}"), folder.new()
    local collector = raw_server.start(taken, taken)
    local text, ok = output_of(("OTEL_EXPORTER_OTLP_ENDPOINT=%s "):format(collector.url) .. WITH_KEYS:format(server.url)
      .. LUA .. " examples/observe.lua anthropic/claude-sonnet-4-5 " .. path .. "/log")
    tested.observe = true
    folder.remove(path)
    assert.is_true(ok, text)
    assert.is_truthy(text:find("^Nine%.\n.*claude%-sonnet%-4%-5 .*%[4 spans sent%]\n%[.*/log: 12 records%]\n$"), text)
    local targets = {}
    for _, request in ipairs(collector:requests()) do targets[request.target] = true end
    assert.are.same({ ["/v1/traces"] = true, ["/v1/metrics"] = true }, targets)
  end)

  -- lua-sql-sqlite3 is optional: without it the example names the package.
  it("semantic_search finds a paragraph, and embeds none twice", function()
    local path = folder.new()
    files.write(path .. "/notes.md", "Lua is a small language\nfor scripts.\n\nBread needs flour.\n")
    local command = ("env OPENAI_API_KEY=test-key-2 KOINE_BASE_URL=%s %s examples/semantic_search.lua %s "
      .. "'a small language for scripts'"):format(server.url .. "/v1", LUA, path)
    tested.semantic_search = true
    local text, ok = output_of(command)
    if not pcall(require, "luasql.sqlite3") then
      assert.is_true(not ok and text:find("needs the package lua-sql-sqlite3", 1, true) ~= nil, text)
    else
      local hit = "%d%.%d+  " .. path:gsub("%p", "%%%0") .. "/notes%.md\n  Lua is a small language for scripts%."
      assert.is_truthy(text:find("^2 new paragraphs\n" .. hit), text)
      assert.is_truthy(output_of(command):find("^0 new paragraphs\n" .. hit))
    end
    folder.remove(path)
  end)

  it("is here for every name that the kit says", function() assert.are.same(kit.OUTPUT, tested) end)
end)
