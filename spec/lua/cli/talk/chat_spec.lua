-- bin/koine on a terminal, and its chat there and behind a pipe, against the loopback provider.

local cjson = require "cjson"
local cli = require "spec.support.cli"
local kit = require "spec.lua.cli.kit"
local koine = require "koine"
local lfs = require "lfs"
local strerror = require "spec.support.strerror"

local TEXT = string.rep("All that glitters. ", 200)
local REFUSED = { error = { status = 400, message = "no such thing" } }
local ENV = { ANTHROPIC_API_KEY = "cli-test-key-2", KOINE_MODEL = "anthropic/claude-sonnet-4-5" }

local at_terminal = cli.on_terminal(it, pending)

describe("koine chat", function()
  local bench = kit.new()

  -- Lines are read as without lua-readline; editor_spec.lua has it.
  setup(function() ENV.LUA_PATH = kit.without(bench.home, "readline") end)

  -- Starts it with a script, on a terminal unless `lines` are its standard input: then what came of it.
  local function chat(answers, lines, ...)
    assert(bench.server:script(answers))
    local arguments = { "chat", "--base-url", bench.server.url, ... }
    if lines then return cli.run(arguments, { env = ENV, input = lines }) end
    return cli.start(arguments, { env = ENV, terminal = true })
  end

  -- The messages of the n-th request.
  local function messages(n) return cjson.decode(assert(bench.server:requests())[n].body).messages end

  describe("behind a pipe", function()
    it("remembers, and prints nothing but the answers", function()
      local r = chat({ { content = "Hello to you." }, { content = "You said hi." } }, "hi\n\nwhat did I say?\n")
      assert.are.same({ code = 0, signal = 0, out = "Hello to you.\nYou said hi.\n", err = "" }, r)
      local said = messages(2)
      assert.are.same({ "hi", "Hello to you.", "what did I say?" },
        { said[1].content[1].text, said[2].content[1].text, said[3].content[1].text })
    end)

    it("ends with the first failure, and its exit code", function()
      local r = chat({ REFUSED }, "hi\nthere\n")
      assert.are.same({ code = 1, signal = 0, out = "", err = "koine: no such thing\n" }, r)
      assert.are.equal(4, chat({ { content = "No.", stop_reason = "refusal" } }, "hi\nthere\n").code)
      r = chat({}, "/dance\n")
      assert.are.same({ 2, "koine: /dance: unknown command; known are /help, /model, /system, /cost, "
        .. "/save, /load, /reset, /multi, /quit\n" }, { r.code, r.err })
    end)

    it("/quit ends, /reset forgets", function()
      local r = chat({ { content = "One." }, { content = "Two." } }, "a\n/reset\nb\n/quit\nnot sent\n")
      assert.are.same({ 0, "One.\nTwo.\n" }, { r.code, r.out })
      assert.are.equal(1, #messages(2))
    end)

    it("/save keeps a conversation for /load, and koine.conversation reads it", function()
      local path = bench.home .. "/talk.json"
      local r = chat({ { content = "The Loire." } }, "A river?\n/save " .. path .. "\n")
      assert.are.same({ 0, "koine: 2 messages saved in " .. path .. "\n" }, { r.code, r.err })
      local file <close> = assert(io.open(path))
      local dumped = cjson.decode(file:read "a")
      assert.are.equal("The Loire.", koine.conversation.load(koine.testing.playbook { steps = {
        { step = 1, type = "message", content = "x" } } }, dumped).history[2].content[1].text)
      assert(bench.server:reset())
      r = chat({ { content = "Nantes." } }, "/load " .. path .. "\nIts cities?\n")
      assert.are.same({ 0, "Nantes.\n", "koine: 2 messages loaded from " .. path .. "\n" }, { r.code, r.out, r.err })
      assert.are.equal("The Loire.", messages(1)[2].content[1].text)
    end)

    it("/save and /load say what is wrong", function()
      local function wrong(line)
        local r = chat({}, line .. "\n")
        assert.are.same({ 2, "" }, { r.code, r.out })
        return r.err
      end
      assert.are.equal("koine: /none/x: " .. strerror "ENOENT" .. "\n", wrong "/save /none/x")
      assert.are.equal("koine: /dev/full: it is no regular file\n", wrong "/save /dev/full")
      assert.are.equal("koine: /save: a file name is required\n", wrong "/save")
      assert.are.equal("koine: /load: a file name is required\n", wrong "/load")
      assert.are.equal("koine: " .. bench.home .. "/none: " .. strerror "ENOENT" .. "\n",
        wrong("/load " .. bench.home .. "/none"))
      local path = cli.file(bench.home .. "/bad.json", "no JSON")
      assert.are.equal("koine: " .. path .. ": no JSON object or array\n", wrong("/load " .. path))
      path = cli.file(bench.home .. "/other.json", '{"format": "other"}')
      assert.are.equal('koine: dump.format: "koine.conversation" expected, got "other"\n', wrong("/load " .. path))
    end)

    it("/save keeps what was there when it cannot write, and makes files for their owner alone", function()
      local path = bench.home .. "/kept.json"
      cli.file(path, "before")
      assert(lfs.link(path, bench.home .. "/link.json", true))
      local r = chat({}, "/save " .. bench.home .. "/link.json\n")
      assert.are.same({ 2, "koine: " .. bench.home .. "/link.json: it is a symbolic link\n" }, { r.code, r.err })
      assert.are.equal("before", koine.files.read(path))
      r = chat({ { content = "Hi." } }, "Hello\n/save " .. path .. "\n")
      assert.are.equal(0, r.code)
      assert.are.equal("rw-------", lfs.attributes(path, "permissions"))
      assert.are.equal("Hi.", cjson.decode((assert(koine.files.read(path)))).history[2].content[1].text)
    end)

    it("/load and -f refuse a pipe, and wait for none", function()
      local path = bench.home .. "/pipe"
      assert(os.execute("mkfifo '" .. path .. "'"))
      local r = chat({}, "/load " .. path .. "\n")
      assert.are.same({ 2, "koine: " .. path .. ": it is no regular file\n" }, { r.code, r.err })
      r = cli.run { "ask", "-m", "anthropic/m", "-f", path, "Hm?" }
      assert.are.same({ 2, "koine: " .. path .. ": it is no regular file\n" }, { r.code, r.err })
    end)

    it("/model says which, and goes on with another", function()
      local r = chat({ { content = "One." }, { content = "Two." } },
        "a\n/model\n/model anthropic/other\nb\n", "--system", "Be brief.")
      assert.are.equal("One.\nTwo.\n", r.out)
      assert.are.equal("koine: anthropic/claude-sonnet-4-5\nkoine: anthropic/other\n", r.err)
      local body = cjson.decode(assert(bench.server:requests())[2].body)
      assert.are.same({ "other", "Be brief.", 3 }, { body.model, body.system, #body.messages })
    end)

    it("/model keeps the address and the key of one provider from the next one", function()
      local other = assert(koine.testing.start())
      local stops <close> = setmetatable({}, { __close = function() other:stop() end }) -- luacheck: ignore stops
      assert(os.execute(("mkdir -p '%s/koine'"):format(bench.dir)))
      cli.file(bench.dir .. "/koine/config.lua", ("return { aliases = { next = 'openai/gpt-4.1' },"
        .. " providers = { openai = { base_url = %q } } }"):format(other.url))
      local env = { XDG_CONFIG_HOME = bench.dir, OPENAI_API_KEY = "cli-test-key-3" }
      for name, value in pairs(ENV) do env[name] = env[name] or value end
      assert(other:script { { content = "Two." } })
      assert(bench.server:script { { content = "One." }, { content = "Three." } })
      local r = cli.run({ "chat", "--base-url", bench.server.url, "-o", "key=cli-test-key-4" },
        { env = env, input = "a\n/model next\nb\n/model anthropic/other\nc\n" })
      assert.are.same({ code = 0, signal = 0, out = "One.\nTwo.\nThree.\n",
        err = "koine: --base-url is for anthropic, not for openai\nkoine: -o key is for anthropic, not for openai\n"
          .. "koine: openai/gpt-4.1\nkoine: anthropic/other\n" }, r)
      local asked = assert(other:requests())
      assert.are.same({ 1, "Bearer cli-test-key-3" }, { #asked, asked[1].headers.authorization })
      asked = assert(bench.server:requests())
      assert.are.same({ 2, "cli-test-key-4" }, { #asked, asked[2].headers["x-api-key"] })
      r = chat({}, "/model azure/m\n")
      assert.are.same({ 2, "koine: --base-url is for anthropic, not for azure\n"
        .. "koine: --base-url: URL of the server to talk to expected\n" }, { r.code, r.err })
    end)

    it("/cost says \"at least\" of the figures that miss a call, and of no others", function()
      local r = chat({ { content = "One." }, { content = "Two." } }, "a\n/model anthropic/unknown\nb\n/cost\n")
      assert.is_truthy(r.err:find("\nkoine: %d+ tokens in, %d+ out, at least %$0%.%d+, %d+%.%d s\n$"), r.err)
      r = chat({ { content = "One." } }, "a\n/cost\n", "-m", "anthropic/unknown")
      assert.is_truthy(r.err:find("^koine: %d+ tokens in, %d+ out, price unknown, %d+%.%d s\n$"), r.err)
    end)

    it("/cost says what is known where no answer has tokens, and nothing before the first one", function()
      local r = chat({ { content = "One.", usage = false } }, "/cost\na\n/cost\n", "-m", "anthropic/unknown")
      assert.is_truthy(r.err:find("^koine: nothing so far\nkoine: %? tokens in, %? out, price unknown, %d+%.%d s\n$"),
        r.err)
    end)

    it("sends invalid UTF-8 repaired, and says so", function()
      local r = chat({ { content = "Ah." } }, "caf\xE9\n")
      assert.are.same({ "Ah.\n", "koine: the line: not UTF-8; what is wrong goes out as U+FFFD\n" }, { r.out, r.err })
      assert.are.equal("caf\u{FFFD}", messages(1)[1].content[1].text)
    end)
  end)

  describe("on a terminal", function()
    at_terminal("prompts, streams, goes on after a failure, and ends with the input", function()
      local child = chat { { content = "Hello to you." }, REFUSED, { content = "Still here." } }
      child:expect("out", "> ")
      child:write "hi\n"
      child:expect("out", "Hello to you.\r\nkoine: ")
      child:expect("out", " s\r\n> ")
      child:write "oops\n"
      child:expect("out", "koine: no such thing\r\n> ")
      child:write "there?\n"
      child:expect("out", "Still here.\r\nkoine: ")
      child:expect("out", " s\r\n> ")
      child:write "\4"
      local r = child:wait()
      assert.are.equal(0, r.code)
      assert.is_truthy(assert(bench.server:requests())[1].body:find('"stream":true', 1, true))
      assert.are.equal(3, #messages(3)) -- the failed one is not in the history
    end)

    at_terminal("ends by Ctrl-C at the prompt", function()
      local child = chat {}
      child:expect("out", "> ")
      child:write "\3"
      assert.are.equal(130, child:wait().code)
    end)

    at_terminal("breaks an answer off by Ctrl-C, and goes on; the next one ends it", function()
      local child = chat { { content = TEXT, chunk = 10, fault = { stall_after = 3000 } }, { content = "Still here." } }
      child:expect("out", "> ")
      child:write "hi\n"
      child:expect("out", "All that glitters.")
      child:write "\3"
      child:expect("out", "\r\nkoine: cancelled; the question is not in the history\r\n> ")
      child:write "there?\n"
      child:expect("out", "Still here.\r\nkoine: ")
      child:expect("out", " s\r\n> ")
      assert.are.equal("there?", messages(2)[1].content[1].text)
      child:write "\3"
      assert.are.equal(130, child:wait().code)
    end)

    at_terminal("shows what is waited for, and nothing that a terminal would obey", function()
      local child = chat { { content = "a\27[31mb\u{9B}31mc\7\n" } }
      child:expect("out", "> ")
      child:write "hi\n"
      child:expect("out", "\27[K\27[?7lwaiting for claude-sonnet-4-5\27[?7h\r\27[Ka[31mb31mc\r\nkoine: ")
      child:write "/quit\n"
      assert.are.equal(0, child:wait().code)
    end)

    at_terminal("shows no character that turns the text around it, and leaves emoji and Hebrew whole", function()
      local kept = "\u{1F468}\u{200D}\u{1F467}\u{FE0F} \u{1F3F4}\u{E0067}\u{E007F} \u{200F}\u{5E9} \u{A0}"
      local child = chat { { content = "\u{202E}a\u{2066}b\u{2069}\u{202A}" .. kept .. "\u{80}\u{9F}." } }
      child:expect("out", "> ")
      child:write "hi\n"
      child:expect("out", "\27[Kab" .. kept .. ".\r\nkoine: ")
      child:write "/quit\n"
      assert.are.equal(0, child:wait().code)
    end)
  end)

  it("says nothing on the standard error output that a terminal would obey", function()
    local odd = "x\u{9B}31m\u{202E}\27[2J\xFF\x9B"
    local r = chat({}, "/load " .. bench.home .. "/" .. odd .. "\n")
    assert.are.same({ 2, "koine: " .. bench.home .. "/x31m [2J\u{FFFD}\u{FFFD}: " .. strerror "ENOENT" .. "\n" },
      { r.code, r.err })
    r = chat({}, "/model anthropic/" .. odd .. "\n")
    assert.are.equal("koine: anthropic/x31m [2J\u{FFFD}\u{FFFD}\n", r.err)
  end)
end)
