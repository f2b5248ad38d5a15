-- The user's settings: config.lua, aliases, keys by command, `koine config`; run as a program.

local cjson = require "cjson"
local cli = require "spec.support.cli"
local kit = require "spec.lua.cli.kit"

local AH = { { content = "Ah." } }
local SECRET = "secret-key-of-the-store"

describe("koine's settings", function()
  local bench = kit.new()
  local config

  -- Runs with these settings in XDG_CONFIG_HOME, and no other variable but those of `env`.
  local function run(text, arguments, answers, env)
    local folder = bench.dir .. "/config/koine"
    assert(os.execute(("mkdir -p '%s'"):format(folder)))
    config = folder .. "/config.lua"
    if text then cli.file(config, text) end
    local all = { XDG_CONFIG_HOME = bench.dir .. "/config", HOME = bench.home }
    for name, value in pairs(env or {}) do all[name] = value end
    return bench.run(arguments, answers, { env = all })
  end

  local function there(...) return { "ask", "--base-url", bench.server.url, ... } end

  local function sent()
    local requests = assert(bench.server:requests())
    return cjson.decode(requests[#requests].body), requests[#requests], #requests
  end

  local function refuses(text, line, arguments)
    local r = run(text, arguments or { "ask", "Hm?" })
    assert.are.same({ 2, "", "koine: " .. config .. line .. "\n" }, { r.code, r.out, r.err })
  end

  -- A program that prints the key, and says so on the other output.
  local function store(text) return cli.file(bench.dir .. "/store", "#!/bin/sh\n" .. text) end

  it("give the model, and names for models", function()
    local text = [[return { model = "fast", aliases = { fast = "anthropic/quick", deep = "anthropic/thorough" } }]]
    local env = { ANTHROPIC_API_KEY = kit.KEY }
    local r = run(text, there "Hm?", AH, env)
    assert.are.same({ "Ah.\n", "" }, { r.out, r.err })
    assert.are.equal("quick", sent().model)
    run(text, there("-m", "deep", "Hm?"), AH, env)
    assert.are.equal("thorough", sent().model)
    env.KOINE_MODEL = "deep"
    run(text, there "Hm?", AH, env)
    assert.are.equal("thorough", sent().model)
    r = run(text, { "ask", "-m", "fsat", "Hm?" }, nil, env)
    assert.are.same({ 2, 'koine: fsat: unknown model; did you mean "fast"? (`koine config` lists the aliases)\n' },
      { r.code, r.err })
  end)

  it("give options of providers, which the command line can change", function()
    local text = ([[return { providers = { anthropic = { base_url = "%s", temperature = 0.25, top_p = 0.5 } } }]])
      :format(bench.server.url)
    local r = run(text, { "ask", "-m", "anthropic/m", "-o", "top_p=0.75", "Hm?" }, AH, { ANTHROPIC_API_KEY = kit.KEY })
    assert.are.same({ "Ah.\n", "" }, { r.out, r.err })
    assert.are.same({ 0.25, 0.75 }, { sent().temperature, sent().top_p })
  end)

  it("give a key by a command, of which nothing is shown", function()
    local program = store(("echo '  %s  '; echo 'user: me'; echo %s >&2"):format(SECRET, SECRET))
    local text = ([[return { providers = { anthropic = { key = { command = { "sh", "%s" } } } } }]]):format(program)
    local r = run(text, there("-m", "anthropic/m", "Hm?"), AH)
    assert.are.same({ "Ah.\n", "" }, { r.out, r.err })
    assert.are.equal(SECRET, select(2, sent()).headers["x-api-key"])
    -- The provider is the one to ask now.
    r = run(text, there "Hm?", AH)
    assert.are.equal("Ah.\n", r.out)
    assert.is_truthy(r.err:find "^koine: anthropic/")
    -- A variable goes before it.
    run(text, there("-m", "anthropic/m", "Hm?"), AH, { ANTHROPIC_API_KEY = "key-of-a-variable" })
    assert.are.equal("key-of-a-variable", select(2, sent()).headers["x-api-key"])
    for _, arguments in ipairs { { "config" }, { "config", "--json" }, { "doctor", "--offline" } } do
      r = run(text, arguments)
      assert.are.equal(0, r.code, r.err)
      assert.is_nil((r.out .. r.err):find(SECRET, 1, true))
      assert.is_nil((r.out .. r.err):find(program, 1, true))
    end
    assert.is_truthy(run(text, { "doctor", "--offline" }).out:find "anthropic +ANTHROPIC_API_KEY +command +not asked")
  end)

  it("say which command gave no key, and nothing that it wrote", function()
    local format = [[return { providers = { anthropic = { key = { command = { "sh", "%s" } } } } }]]
    local cases = {
      { "echo " .. SECRET .. "; exit 3", "ended with exit code 3" },
      { "echo " .. SECRET .. "; kill -9 $$", "was ended by a signal" },
      { "echo", "printed nothing" },
      { "printf ''; echo " .. SECRET .. " >&2", "printed nothing" },
    }
    for _, case in ipairs(cases) do
      local r = run(format:format(store(case[1])), { "ask", "-m", "anthropic/m", "Hm?" })
      assert.are.same({ 3, "", "koine: the key for anthropic: `sh` " .. case[2] .. "\n" }, { r.code, r.out, r.err })
    end
    local text = [[return { providers = { anthropic = { key = { command = { "no-such-program", "x" } } } } }]]
    local r = run(text, { "ask", "-m", "anthropic/m", "Hm?" })
    assert.are.same({ 3, "koine: the key for anthropic: `no-such-program` is not there\n" }, { r.code, r.err })
  end)

  it("run nothing: the file is data", function()
    refuses("return {\n model = os.getenv 'HOME' }", ":2: attempt to index a nil value (global 'os')")
    refuses("return {\n model = }", ":2: unexpected symbol near '}'")
    refuses("require 'koine'", ":1: attempt to call a nil value (global 'require')")
    refuses("return 7", ": it returns no table: `return { … }` expected")
    refuses("\27Lua", ": attempt to load a binary chunk (mode is 't')")
    refuses("a\0b", ": neither text nor an image (PNG, JPEG, GIF, WebP, …) nor a PDF or an office document")
    refuses("return { model = ('x'):rep(1 << 40) }", ":1: resulting string too large")
  end)

  it("name the file, the line and the nearest field", function()
    refuses("return {\n modle = 'x' }", ':2: modle: unknown field; did you mean "model"?')
    refuses("return {\n model = 7 }", ":2: model: string expected, got a number")
    refuses("return {\n aliases = { ['a/b'] = 'x' } }",
      ":2: aliases: names without blanks and slashes expected, got a table")
    refuses("return {\n aliases = {\n a = 7 } }", ":3: aliases.a: PROVIDER/MODEL expected")
    refuses("return {\n providers = {\n opnai = {} } }",
      ':3: providers.opnai: unknown provider; did you mean "openai"?')
    refuses("return {\n providers = { openai = {\n key = 'sk-secret' } } }", ":3: providers.openai.key: "
      .. "{ command = { PROGRAM, ARGUMENT, … } }, which prints the key, expected")
    refuses("return { providers = { openai = { key = { command = 'pass openai' } } } }", ":1: providers.openai.key: "
      .. "{ command = { PROGRAM, ARGUMENT, … } }, which prints the key, expected")
    local r = run("return { providers = { anthropic = { tempratur = 1 } } }", { "ask", "-m", "anthropic/m", "Hm?" },
      nil, { ANTHROPIC_API_KEY = kit.KEY })
    assert.are.same({ 2, "koine: " .. config .. ': providers.anthropic.tempratur: unknown option; did you mean '
      .. '"temperature"?\n' }, { r.code, r.err })
  end)

  it("give a log", function()
    local text = ([[return { log = "~/talks.jsonl", model = "anthropic/m" }]])
    local env = { ANTHROPIC_API_KEY = kit.KEY, HOME = bench.dir }
    assert.are.equal("Ah.\n", run(text, there "A river?", AH, env).out)
    assert.are.equal("Oh.\n", run(text, there("-c", "And?"), { { content = "Oh." } }, env).out)
    assert.are.equal(3, #sent().messages)
    assert.is_truthy(run(text, { "logs" }, nil, env).out:find "A river?")
    run(text, there("--no-log", "not kept"), AH, env)
    assert.is_nil(run(text, { "logs" }, nil, env).out:find "not kept")
  end)

  it("are as the page shows them", function()
    local r = run(kit.shown "config.lua", { "config", "--json" })
    local shown = cjson.decode(r.out)
    assert.are.same({ "fast", "anthropic/claude-sonnet-4-5", bench.home .. "/talks.db", { "pass", "…" } },
      { shown.model, shown.aliases.deep, shown.log, shown.providers.anthropic.key.command })
  end)

  it("are shown, without the secrets", function()
    local r = run([[return { model = "a", aliases = { a = "openai/b" }, providers = {
      openai = { key = { command = { "pass", "hush" } }, timeout = 60 },
      anthropic = { headers = { ["x-a"] = "hush" }, extra = { token = "hush", n = { 1 } } } } }]],
      { "config" })
    assert.are.equal(0, r.code, r.err)
    assert.are.equal(("file        %s\ntemplates   %s\nmodel       a\nlog         -\nalias       a = openai/b\n"
      .. 'provider    anthropic = {"extra":{"n":[1],"token":"[redacted]"},"headers":"[redacted]"}\n'
      .. 'provider    openai = {"key":{"command":["pass","…"]},"timeout":60}\n'):format(config,
      config:gsub("config.lua$", "templates")), r.out)
    os.remove(config)
    r = run(nil, { "config", "--json" })
    local shown = cjson.decode(r.out)
    assert.are.same({ config, false }, { shown.path, shown.exists })
    assert.is_truthy(run(nil, { "config" }).out:find("(not there)", 1, true))
  end)

  it("are shown without passwords and queries of addresses, and whatever their values are", function()
    local text = [[return { providers = {
      openai = { proxy = "http://u:hush@h:8080", base_url = "https://a:hush@x.y/v1?sig=hush", on_retry = ("").rep,
        max_tokens = 9, extra = { hook = "https://a:hush@x.y/?hush#hush", [true] = 1, 0/0, 1/0 } },
      anthropic = { proxy = "u:hush@h:8080", base_url = "a:hush@x.y/v1" } } }]]
    local r = run(text, { "config" })
    assert.are.same({ 0, "" }, { r.code, r.err })
    assert.are.equal('provider    anthropic = {"base_url":"x.y/v1","proxy":"[redacted]"}\n'
      .. 'provider    openai = {"base_url":"https://x.y/v1","extra":{"1":"nan","2":"inf","hook":"https://x.y",'
      .. '"true":1},"max_tokens":9,"on_retry":"(function)","proxy":"[redacted]"}\n',
      (r.out:match "provider .*":gsub("%-nan", "nan")))
    r = run(text, { "config", "--json" })
    assert.are.same({ 0, "" }, { r.code, r.err })
    local openai = cjson.decode(r.out).providers.openai
    assert.are.same({ "https://x.y/v1", "(function)", "[redacted]" }, { openai.base_url, openai.on_retry,
      openai.proxy })
    assert.is_nil(r.out:find("hush", 1, true))
  end)
end)
