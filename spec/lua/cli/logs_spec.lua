-- bin/koine with a log: what ask and chat keep, what `koine logs` shows of it, and how they go on.

local cjson = require "cjson"
local cli = require "spec.support.cli"
local kit = require "spec.lua.cli.kit"
local koine = require "koine"
local lfs = require "lfs"

local ENV = { ANTHROPIC_API_KEY = kit.KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5" }

local at_terminal = cli.on_terminal(it, pending)
local has_sqlite = pcall(require, "luasql.sqlite3")

describe("a log of the command line", function()
  local bench = kit.new()

  local function ask(path, answer, ...)
    return bench.run_there({ "ask", "--log", path, ... }, { { content = answer } })
  end

  local function logs(path, ...)
    local r = bench.run { "logs", "--log", path, ... }
    assert.are.same({ 0, "" }, { r.code, r.err })
    return r.out
  end

  local function entries(path, ...)
    local list = {}
    for line in logs(path, "--json", ...):gmatch "[^\n]+" do list[#list + 1] = cjson.decode(line) end
    return list
  end

  -- The messages of the last request.
  local function sent()
    local requests = assert(bench.server:requests())
    return cjson.decode(requests[#requests].body)
  end

  for _, name in ipairs { "log.db", "log.jsonl" } do
    local check = (has_sqlite or name ~= "log.db") and it or pending

    check(name .. " keeps what is asked and answered, which can be listed, searched and shown", function()
      local path = bench.dir .. "/" .. name
      assert.are.equal("Paris's.\n", ask(path, "Paris's.", "--system", "Be brief.", "Whose Seine?").out)
      ask(path, "The Rhône.", "A second", "river?")
      assert.are.equal("rw-------", lfs.attributes(path, "permissions"))
      local first, second = table.unpack(entries(path))
      assert.are.equal("anthropic/claude-sonnet-4-5", first.model)
      assert.are.same({ "Whose Seine?", "Paris's.", "Be brief.", "end_turn" },
        { first.prompt, first.answer, first.system, first.stop_reason })
      assert.are.equal(first.usage.cost.total, first.cost)
      assert.are.equal(2, #first.messages)
      assert.are_not.equal(first.conversation, second.conversation)
      local listed = logs(path)
      assert.is_truthy(listed:find("^" .. first.id .. "  %d+%-%d%d%-%d%d %d%d:%d%d  anthropic/claude%-sonnet%-4%-5"
        .. "  %$0%.%d+  Whose Seine%?\n" .. second.id), listed)
      assert.are.equal(1, select(2, logs(path, "-n", "1"):gsub("\n", "")))
      assert.is_truthy(logs(path, "-q", "rhône"):find(second.id, 1, true))
      assert.is_nil(logs(path, "-q", "SECOND"):find(first.id, 1, true))
      assert.are.equal("", logs(path, "-m", "gpt"))
      assert.are.equal(2, #entries(path, "-m", "Sonnet", "-n", "0"))
      local shown = logs(path, "show", first.id:sub(1, 12))
      assert.is_truthy(shown:find("\nconversation " .. first.conversation
        .. "\n\nsystem: Be brief.\n\n> Whose Seine?\n\nParis's.\n", 1, true), shown)
    end)

    check(name .. " goes on with the last conversation, or another one", function()
      local path = bench.dir .. "/" .. name
      ask(path, "One.", "--system", "Be brief.", "-m", "anthropic/other", "first")
      ask(path, "Two.", "second")
      ask(path, "Three.", "-c", "third")
      assert.are.same({ 3, "claude-sonnet-4-5" }, { #sent().messages, sent().model })
      local one, two, three = table.unpack(entries(path))
      assert.are.equal(two.conversation, three.conversation)
      assert.are.equal(2, #three.messages)
      ask(path, "Four.", "--cid", one.conversation:sub(1, 14), "fourth")
      local body = sent()
      assert.are.same({ "other", "Be brief.", "One." }, { body.model, body.system, body.messages[2].content[1].text })
      local r = bench.run({ "chat", "--base-url", bench.server.url, "--log", path, "-c" },
        { { content = "Five." }, { content = "More." }, { content = "Six." } },
        { env = ENV, input = "fifth\nmore\n/reset\nsixth\n" })
      assert.are.equal("Five.\nMore.\nSix.\n", r.out)
      assert.are.equal(1, #sent().messages)
      local all = entries(path)
      assert.are.same({ one.conversation, 2 }, { all[6].conversation, #all[6].messages })
      assert.are_not.equal(one.conversation, all[7].conversation)
      assert.are.equal(2, #all[7].messages)
      assert.are.equal(4, #entries(path, "--cid", one.conversation))
    end)

    check(name .. " goes on at the same server", function()
      local path, other = bench.dir .. "/" .. name, assert(koine.testing.start())
      local stops <close> = setmetatable({}, { __close = function() other:stop() end }) -- luacheck: ignore stops
      local config = bench.dir .. "/config"
      local env = { ANTHROPIC_API_KEY = kit.KEY, OPENAI_API_KEY = kit.KEY, XDG_CONFIG_HOME = config,
        KOINE_MODEL = "anthropic/claude-sonnet-4-5" }
      local function go_on(answer, ...)
        return bench.run({ "ask", "--log", path, "-c", ... }, { { content = answer } }, { env = env })
      end
      local same = "koine: at " .. bench.server.url .. ", as before (--base-url gives another)\n"

      bench.run({ "ask", "--log", path, "--base-url", bench.server.url:gsub("//", "//me:hidden@"),
        "first" }, { { content = "One." } }, { env = env })
      assert.is_nil(assert(koine.files.read(path)):find("hidden", 1, true))
      bench.run({ "ask", "--log", path, "-c", "--base-url", bench.server.url .. "/", "more" }, { { content = "One." } },
        { env = env })
      assert.are.equal(bench.server.url, entries(path)[1].base_url)
      local r = go_on("Two.", "second")
      assert.are.same({ "Two.\n", same }, { r.out, r.err })
      r = go_on("Three.", "-m", "anthropic/other", "third")
      assert.are.same({ "Three.\n", same, "other" }, { r.out, r.err, sent().model })

      assert(other:script { { content = "Four." } })
      r = go_on("no", "-o", "base_url=" .. other.url, "fourth")
      assert.are.same({ "Four.\n", "" }, { r.out, r.err })
      assert.are.equal(other.url, entries(path, "-n", "1")[1].base_url)

      os.execute("mkdir -p '" .. config .. "/koine'")
      local function set(url)
        cli.file(config .. "/koine/config.lua", ("return { providers = { anthropic = { base_url = %q },"
          .. " openai = { base_url = %q } } }"):format(url, bench.server.url))
      end
      set(bench.server.url)
      r = go_on("no", "fifth")
      assert.are.same({ 2, "", "koine: the conversation was at " .. other.url .. ", and " .. config
        .. "/koine/config.lua has another base_url: --base-url says which\n" }, { r.code, r.out, r.err })
      set(other.url .. "/")
      assert(other:script { { content = "Six." } })
      r = go_on("no", "sixth")
      assert.are.same({ "Six.\n", "" }, { r.out, r.err })
      assert.are.equal(other.url, entries(path, "-n", "1")[1].base_url)
      r = go_on("Seven.", "-m", "openai/gpt-4.1", "seventh") -- another provider has an address of its own
      assert.are.same({ "Seven.\n", "" }, { r.out, r.err })
      os.remove(config .. "/koine/config.lua")

      r = bench.run({ "chat", "--log", path, "-c" }, { { content = "Eight." } }, { env = env, input = "eighth\n" })
      assert.are.same({ "Eight.\n", same }, { r.out, r.err })
      assert.are.equal(bench.server.url, entries(path, "-n", "1")[1].base_url)
    end)

    check(name .. " keeps values of a shape, and nothing of a failure", function()
      local path = bench.dir .. "/" .. name
      local r = ask(path, '{"name": "Ada"}', "--schema", "name", "Who?")
      assert.are.equal('{"name":"Ada"}\n', r.out)
      r = bench.run({ "chat", "--base-url", bench.server.url, "--log", path, "-c" },
        { { error = { status = 400, message = "no" } } }, { env = ENV, input = "hm\n" })
      assert.are.equal(1, r.code)
      local kept = entries(path)
      assert.are.equal(1, #kept)
      assert.are.equal('{"name": "Ada"}', kept[1].answer)
    end)

    check(name .. " is written by several processes at once", function()
      local path, children = bench.dir .. "/" .. name, {}
      local answers = {}
      for i = 1, 4 do answers[i] = { content = ("x"):rep(20000) } end
      assert(bench.server:script(answers))
      for i = 1, 4 do
        children[i] = cli.start({ "ask", "--base-url", bench.server.url, "--log", path, "q" .. i }, { env = ENV })
        children[i]:close_input()
      end
      for i = 1, 4 do assert.are.equal(0, children[i]:wait().code) end
      local seen = {}
      for _, entry in ipairs(entries(path)) do seen[entry.prompt] = #entry.answer end
      assert.are.same({ q1 = 20000, q2 = 20000, q3 = 20000, q4 = 20000 }, seen)
    end)

    check(name .. " of somebody else stays as it is", function()
      for _, bytes in ipairs { "something\nelse\n", "SQLite format 3\0" .. ("\0"):rep(200), '{"a": 1}\n' } do
        local path = cli.file(bench.dir .. "/" .. name, bytes)
        local r = bench.run { "ask", "--log", path, "Hm?" }
        assert.are.same({ 1, "", "koine: " .. path .. ": this is no log of koine's: name another file\n" },
          { r.code, r.out, r.err })
        assert.are.equal(bytes, koine.files.read(path))
      end
    end)

    check(name .. " holds what was sent of a prompt that is no UTF-8, and no other bytes", function()
      local path = bench.dir .. "/" .. name
      local r = bench.run({ "ask", "--base-url", bench.server.url, "--log", path, "--system", "s\xff", "a\xfeb" },
        { { content = "One." } }, { env = ENV, input = "x \xff \xed\xa0\x80 \xf0\x90z\xe4" })
      assert.are.equal("koine: standard input: not UTF-8; what is wrong goes out as U+FFFD\n"
        .. "koine: the prompt: not UTF-8; what is wrong goes out as U+FFFD\n", r.err)
      local texts = {}
      for i, block in ipairs(sent().messages[1].content) do texts[i] = block.text end
      assert.are.same({ "x \u{FFFD} \u{FFFD} \u{FFFD}z\u{FFFD}", "a\u{FFFD}b" }, texts)
      local entry = entries(path)[1]
      assert.are.same({ table.concat(texts, "\n"), "s\u{FFFD}" }, { entry.prompt, entry.system })
      assert.is_truthy(utf8.len(logs(path, "--json")))
      assert.is_nil(assert(koine.files.read(path)):find("\xff \xed", 1, true))
    end)

    check(name .. " is not made by who wants to go on with it", function()
      local path = bench.dir .. "/" .. name
      for _, option in ipairs { "-c", "--cid=x" } do
        local r = bench.run { "ask", "--log", path, option, "Hm?" }
        assert.are.same({ 2, "", "koine: " .. path .. ": there is no such log\n" }, { r.code, r.out, r.err })
        assert.is_nil(lfs.attributes(path))
      end
    end)

    check(name .. " has one conversation for --cid, or says so", function()
      local path = bench.dir .. "/" .. name
      ask(path, "One.", "first")
      local r = bench.run { "logs", "--log", path, "--cid", "zz" }
      assert.are.same({ 2, "", 'koine: --cid: no conversation begins with "zz"\n' }, { r.code, r.out, r.err })
      assert.are.equal("", logs(path, "--cid", entries(path)[1].conversation:sub(1, 4), "-q", "zz"))
    end)
  end

  it("stays as it is where it may be somebody else's", function()
    local path = bench.dir .. "/log"
    local foreign, cut = "this is no log of koine's: name another file",
      "it has no whole line, and may be no log of koine's: remove it, or name another file"
    for bytes, why in pairs {
      ['{"name":"my-config","keep":true}'] = foreign, ['{"id":"0123456789abcdef","name":"x"}'] = foreign,
      ['{"v":1,"type":"chat"}'] = foreign, ['{\n  "a": 1\n}\n'] = foreign, ['{"a":1,\n"b":2}'] = foreign,
      ["{"] = cut, ['{"'] = cut, ["\n"] = cut, ['{"name":"my-'] = cut, ['{"id":"0123456789abcd'] = cut,
      ['{"id":"0123456789abcdef","name":"x"'] = cut,
    } do
      cli.file(path, bytes)
      for _, words in ipairs { { "ask", "--log", path, "Hm?" }, { "ask", "--log", path, "-c", "Hm?" },
        { "logs", "--log", path } } do
        local r = bench.run(words)
        assert.are.same({ 1, "", "koine: " .. path .. ": " .. why .. "\n" }, { r.code, r.out, r.err })
        assert.are.equal(bytes, koine.files.read(path))
      end
    end
    assert.are.equal(0, #assert(bench.server:requests()))
  end)

  it("goes on behind a first line that a crash cut off", function()
    local path = bench.dir .. "/log"
    ask(path, "One.", "first")
    local alone = assert(koine.files.read(path))
    cli.file(bench.dir .. "/tool.lua", kit.shown "weather.lua")
    os.remove(path)
    ask(path, "One.", "-T", bench.dir .. "/tool.lua", "--max-tokens", "9", "first")
    for _, whole in ipairs { alone, assert(koine.files.read(path)) } do
      for _, n in ipairs { 25, 30, 100, whole:find("\n", 1, true) - 1 } do
        cli.file(path, whole:sub(1, n))
        assert.are.equal("Two.\n", ask(path, "Two.", "second").out)
        assert.are.equal("Three.\n", ask(path, "Three.", "-c", "third").out)
        assert.are.equal(2, #entries(path))
      end
      for _, begin in ipairs { "{", '{"id":"01', '{"content":{"messages":[', "" } do -- of other observers, too
        cli.file(path, begin .. "\n" .. whole)
        assert.are.equal(1, #entries(path))
      end
    end
  end)

  it("goes on behind a line that a crash cut off", function()
    local path = bench.dir .. "/log"
    ask(path, "One.", "first")
    local whole = assert(koine.files.read(path))
    cli.file(path, whole .. '{"v":1,"type":"exch')
    ask(path, "Two.", "-c", "second")
    assert.are.equal(2, #entries(path))
    local r = bench.run { "trace", path }
    assert.are.equal("koine: 1 lines hold no record\n", r.err)
    assert.are.equal(2, select(2, r.out:gsub("chat claude%-sonnet%-4%-5 [^\n]* end_turn\n", "")))
  end)

  it("leaves lines out whose fields cannot be used", function()
    local path = bench.dir .. "/log"
    ask(path, "One.", "--system", "Be brief.", "first")
    local whole = assert(koine.files.read(path))
    local line = whole:match "[^\n]*\"type\":\"exchange\"[^\n]*\n"
    local damaged = {}
    for name, value in pairs { time = '"soon"', system = "{}", id = "7", model = "[]", conversation = "null",
      prompt = "1.5", answer = "true", messages = '"none"' } do
      local other = cjson.decode(line)
      other[name] = cjson.decode("[" .. value .. "]")[1]
      damaged[#damaged + 1] = cjson.encode(other) .. "\n"
    end
    local other = cjson.decode(line)
    other.time = nil
    damaged[#damaged + 1] = cjson.encode(other) .. "\n"
    cli.file(path, whole .. table.concat(damaged))
    assert.are.equal(1, #entries(path))
    assert.are.equal(1, select(2, logs(path):gsub("\n", "")))
    assert.is_truthy(logs(path, "show", entries(path)[1].id):find("> first", 1, true))
    ask(path, "Two.", "-c", "second")
    assert.are.equal(2, #entries(path))
  end)

  if has_sqlite then
    it("says which record of a database is damaged", function()
      local path = bench.dir .. "/log.db"
      ask(path, "One.", "first")
      ask(path, "Two.", "second")
      local environment = require "luasql.sqlite3".sqlite3()
      local connection = assert(environment:connect(path))
      assert(connection:execute "UPDATE exchanges SET record = '{\"v\":1' WHERE n = 1")
      connection:close()
      environment:close()
      for _, words in ipairs { { "logs", "--log", path }, { "logs", "--log", path, "--json" } } do
        local r = bench.run(words)
        assert.are.same({ 1, "", "koine: " .. path .. ": a record is damaged (n = 1)\n" }, { r.code, r.out, r.err })
      end
      assert.are.equal("second", entries(path, "-n", "1")[1].prompt)
    end)

    it("says that a database is damaged", function()
      local path = bench.dir .. "/log.db"
      ask(path, "One.", "first")
      local bytes = assert(koine.files.read(path))
      cli.file(path, bytes:sub(1, 4096) .. ("\xff"):rep(#bytes - 4096))
      local r = bench.run { "logs", "--log", path }
      assert.are.equal(1, r.code)
      assert.is_truthy(r.err:find("^koine: [^\n]*log.db: [^\n]*malformed[^\n]*\n$"), r.err)
    end)
  end

  it("is the one of KOINE_LOG, unless --no-log says otherwise", function()
    local path = bench.dir .. "/log"
    local env = { ANTHROPIC_API_KEY = kit.KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5", KOINE_LOG = path }
    bench.run_there({ "ask", "first" }, { { content = "One." } }, { env = env })
    bench.run_there({ "ask", "--no-log", "second" }, { { content = "Two." } }, { env = env })
    assert.are.equal(1, #entries(path))
    assert.is_truthy(bench.run({ "logs" }, nil, { env = env }).out:find "first")
  end)

  it("is asked for where there is none", function()
    local function wrong(words, ...)
      local r = bench.run { ... }
      assert.are.same({ 2, "", "koine: " .. words .. "\n" }, { r.code, r.out, r.err })
    end
    local path = bench.dir .. "/log"
    wrong("a log is required (--log FILE or KOINE_LOG)", "logs")
    wrong("--log: a file name is required", "logs", "--log", "")
    wrong("--continue: a log is required (--log FILE or KOINE_LOG)", "ask", "-c", "Hm?")
    wrong(path .. ": there is no such log", "logs", "--log", path)
    cli.file(path, "")
    wrong("--continue: the log is empty", "ask", "--log", path, "-c", "Hm?")
    wrong('--cid: no conversation begins with "x"', "ask", "--log", path, "--cid", "x", "Hm?")
    wrong("show: an id is required (`koine logs` lists them)", "logs", "--log", path, "show")
    wrong('show: no id begins with "x"', "logs", "--log", path, "show", "x")
    wrong("/dev/null: it is no regular file", "ask", "--log", "/dev/null", "Hm?")
  end)

  it("is not what fits an empty text", function()
    local path = bench.dir .. "/log"
    ask(path, "One.", "first")
    for _, words in ipairs { { "--cid", "ask", "--log", path, "--cid", "", "Hm?" },
      { "--cid", "chat", "--log", path, "--cid=" }, { "--cid", "logs", "--log", path, "--cid", "" },
      { "-q", "logs", "--log", path, "-q", "" }, { "-m", "logs", "--log", path, "-m", "" },
      { "ID", "logs", "--log", path, "show", "" } } do
      local r = bench.run({ table.unpack(words, 2) })
      assert.are.same({ 2, "", ("koine: %s: a text expected, got none (see `koine %s --help`)\n")
        :format(words[1], words[2]) }, { r.code, r.out, r.err })
    end
  end)

  it("is not replaced by /save", function()
    local path = bench.dir .. "/log"
    ask(path, "One.", "first")
    local before = assert(koine.files.read(path))
    local other = bench.dir .. "/./log"
    local r = bench.run({ "chat", "--base-url", bench.server.url, "--log", path }, nil,
      { env = ENV, input = "/save " .. other .. "\n" })
    assert.are.same({ 2, "koine: /save: " .. other .. " is the log\n" }, { r.code, r.err })
    assert.are.equal(before, koine.files.read(path))
  end)

  at_terminal("says what an answer took, on a terminal alone", function()
    assert(bench.server:script { { content = "Hello." } })
    local child = cli.start({ "ask", "--base-url", bench.server.url, "Hi." }, { env = ENV, terminal = true })
    child:expect("out", "Hello.")
    local r = child:wait()
    assert.is_truthy(r.out:find("koine: %d+ tokens in, %d+ out, %$0%.%d+, %d+%.%d s\r\n"), r.out)
    r = bench.run_there({ "ask", "Hi." }, { { content = "Hello." } })
    assert.are.same({ "Hello.\n", "" }, { r.out, r.err })
  end)
end)
