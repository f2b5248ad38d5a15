-- Lines of a chat: several of them as one question, and, with lua-readline, editing and a history; on a terminal.

local cjson = require "cjson"
local cli = require "spec.support.cli"
local kit = require "spec.lua.cli.kit"
local koine = require "koine"
local lfs = require "lfs"

local found = pcall(require, "readline")
local at_terminal = found and cli.on_terminal(it, pending) or function(name) pending(name .. " (no lua-readline)") end

describe("koine chat reads", function()
  local bench = kit.new()
  local env

  before_each(function()
    env = { ANTHROPIC_API_KEY = kit.KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5", HOME = bench.dir }
  end)

  local function question(n)
    local messages = cjson.decode(assert(bench.server:requests())[n].body).messages
    return messages[#messages].content[1].text
  end

  local function piped(lines, answers)
    assert(bench.server:script(answers))
    local r = cli.run({ "chat", "--base-url", bench.server.url }, { env = env, input = lines })
    assert.are.equal(0, r.code, r.err)
    return r
  end

  it("a line that ends in a backslash with the next one", function()
    piped("one \\\ntwo\\\nthree\nfour\\\n", { { content = "A." }, { content = "B." } })
    assert.are.same({ "one \ntwo\nthree", "four" }, { question(1), question(2) })
  end)

  it("lines from /multi up to the end", function()
    piped("/multi\none\n\n/quit\n/end\nnext\n/multi STOP\nlast\n/end\n", { { content = "A." }, { content = "B." },
      { content = "C." } })
    assert.are.same({ "one\n\n/quit", "next", "last\n/end" }, { question(1), question(2), question(3) })
  end)

  it("commands: /help, /system, /cost, /save as a text", function()
    local path = bench.dir .. "/talk.md"
    local r = piped("/cost\n/system\n/system Be brief.\nA\\\nriver?\n/cost\n/system -\nAnd?\n/save " .. path
      .. "\n/help\n", { { content = "The **Loire**." }, { content = "The Seine." } })
    assert.are.equal("The **Loire**.\nThe Seine.\n", r.out)
    local said = {}
    for line in r.err:gmatch "[^\n]+" do said[#said + 1] = line end
    assert.are.same({ "koine: nothing so far", "koine: no system prompt", "koine: system: Be brief." },
      table.move(said, 1, 3, 1, {}))
    assert.is_truthy(said[4]:find "^koine: %d+ tokens in, %d+ out, %$0%.%d+, ", said[4])
    assert.are.equal("koine: no system prompt", said[5])
    assert.are.equal("Be brief.", cjson.decode(assert(bench.server:requests())[1].body).system)
    assert.is_nil(cjson.decode(assert(bench.server:requests())[2].body).system)
    assert.are.equal("> A\n> river?\n\nThe **Loire**.\n\n> And?\n\nThe Seine.\n", koine.files.read(path))
    for _, name in ipairs { "help", "model", "system", "cost", "save", "load", "reset", "multi", "quit" } do
      assert.is_truthy(r.err:find("\n  /" .. name .. " ", 1, true), name)
    end
  end)

  describe("with lua-readline", function()
    local PROMPT = "\27[?2004h> "

    local function chat(...)
      assert(bench.server:script { ... })
      local child = cli.start({ "chat", "--base-url", bench.server.url }, { env = env, terminal = true })
      child:expect("out", PROMPT)
      return child
    end

    -- Writes keys, and waits for the answer that they bring, and for the next prompt: keys before it are no keys of
    -- readline's.
    local function say(child, keys, answer)
      child.out = ""
      child:write(keys)
      child:expect("out", answer .. "\r\nkoine: ")
      child:expect("out", PROMPT)
    end

    at_terminal("lines that are edited, whatever the width of their characters", function()
      local child = chat { content = "Ah." }
      say(child, "日本語ü\127\127\1X\5!\r", "Ah.")
      assert.are.equal("X日本!", question(1))
      child:write "\4"
      assert.are.equal(0, child:wait().code)
    end)

    at_terminal("lines again, also those of an earlier run, from a file of its owner's alone", function()
      local child = chat({ content = "A1." }, { content = "A2." })
      say(child, "first \\\\ x\r", "A1.")
      say(child, "\27[A\127\127!\r", "A2.")
      assert.are.same({ "first \\\\ x", "first \\\\!" }, { question(1), question(2) })
      child:write "\4"
      assert.are.equal(0, child:wait().code)
      local path = bench.dir .. "/.local/state/koine/history"
      assert.are.equal("rw-------", lfs.attributes(path, "permissions"))
      assert.are.equal("rwx------", lfs.attributes(bench.dir .. "/.local/state/koine", "permissions"))
      assert(bench.server:reset())
      child = chat { content = "A3." }
      say(child, "\27[A\27[A\r", "A3.")
      assert.are.equal("first \\\\ x", question(1))
      child:write "\4"
      child:wait()
    end)

    at_terminal("no line that Ctrl-C removes, and leaves the terminal as it was", function()
      local child = chat { content = "Ah." }
      child:write "not this\3"
      say(child, "but this\r", "Ah.")
      assert.are.equal("but this", question(1))
      child:write "\4"
      assert.are.equal(0, child:wait().code)
    end)

    at_terminal("a pasted text of several lines as one question", function()
      local child = chat { content = "Ah." }
      say(child, "\27[200~one\ntwo\n\27[201~\r", "Ah.")
      assert.are.equal("one\ntwo", (question(1):gsub("\n$", "")))
      child:write "\4"
      assert.are.equal(0, child:wait().code)
      assert(bench.server:reset())
      child = chat { content = "Oh." }
      say(child, "\27[A\r", "Oh.")
      assert.are.equal("one\ntwo", (question(1):gsub("\n$", "")))
      child:write "\4"
      child:wait()
    end)

    at_terminal("on after an answer that Ctrl-C broke off", function()
      local child = chat({ content = ("All that glitters. "):rep(200), chunk = 10, fault = { stall_after = 3000 } },
        { content = "Still here." })
      child:write "hi\r"
      child:expect("out", "All that glitters.")
      child.out = ""
      child:write "\3"
      child:expect("out", PROMPT)
      say(child, "there?\r", "Still here.")
      assert.are.equal("there?", question(2))
      child:write "\4"
      assert.are.equal(0, child:wait().code)
    end)
  end)
end)
