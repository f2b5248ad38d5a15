-- bin/koine and servers on this machine: without a key, with one model; and models that think before they answer.

local cli = require "spec.support.cli"
local folder = require "spec.support.folder"
local koine = require "koine"

local KEY = "cli-test-key-2"
local at_terminal = cli.on_terminal(it, pending)

describe("koine", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)
  after_each(cli.clean_up)

  local function run(arguments, answers, options)
    if answers then assert(server:script(answers)) end
    return cli.run(arguments, options)
  end

  local function run_there(arguments, answers, options)
    return run(table.move(arguments, 2, #arguments, 4, { arguments[1], "--base-url", server.url }), answers, options)
  end

  local function models(...)
    local data = koine.array {}
    for i, id in ipairs { ... } do data[i] = { id = id, object = "model" } end
    return { path = "/models", reply = { status = 200, body = { object = "list", data = data } } }
  end

  local function last_model()
    local requests = assert(server:requests())
    return requests[#requests].body:match '"model":"([^"]*)"'
  end

  it("asks servers of this machine that need no key; that one is not there is no failure", function()
    local port = cli.closed_port()
    local not_there = ("not set no server there: Failed to connect to 127.0.0.1 port %d "):format(port)
    local r = run({ "doctor", "--base-url", "http://127.0.0.1:" .. port }, nil, { env = {} })
    local there = run_there({ "doctor" }, nil, { env = {} })
    assert.are.same({ 0, 0 }, { r.code, there.code })
    local count, answers = 0, {}
    for _, provider in ipairs(koine.providers()) do
      if provider.key_optional and provider.base_url then
        count = count + 1
        answers[count] = { reply = { status = 500, body = "no" }, path = "/models" }
      end
    end
    assert.is_true(count >= 6)
    for _, name in ipairs { "llamacpp", "lmstudio", "ollama", "ollama_compat", "sglang", "vllm" } do
      assert.is_truthy(r.out:find("\n" .. name .. " +[%u_]+ +" .. not_there), r.out)
      assert.is_truthy(there.out:find(name .. " +[%u_]+ +not set answers, 25 models\n"), there.out)
    end
    assert.are.equal(count, #assert(server:requests()))
    r = run_there({ "doctor" }, answers, { env = {} })
    assert.are.equal(1, r.code, r.out)
    r = run({ "doctor" }, nil, { env = { OLLAMA_HOST = "127.0.0.1:" .. port } })
    assert.is_truthy(r.out:find("\nollama +[%u_]+ +" .. not_there), r.out)
  end)

  it("asks a server with one model for it, and says which it is", function()
    local r = run_there({ "ask", "-m", "llamacpp", "Hm?" }, { models "qwen3-4b", { content = "Ah." } })
    assert.are.same({ 0, "Ah.\n", "koine: llamacpp/qwen3-4b\n" }, { r.code, r.out, r.err })
    assert.are.equal("qwen3-4b", last_model())
    r = run_there({ "ask", "Hm?" }, { models "org/qwen3", { content = "Ah." } }, { env = { KOINE_MODEL = "vllm/" } })
    assert.are.same({ 0, "Ah.\n", "koine: vllm/org/qwen3\n" }, { r.code, r.out, r.err })
    assert.are.equal("org/qwen3", last_model())
    local home = folder.new()
    assert(os.execute(("mkdir -p '%s/koine'"):format(home)))
    cli.file(home .. "/koine/config.lua", ("return { providers = { lmstudio = { base_url = %q },"
      .. " ollama_compat = { base_url = %q } } }"):format(server.url, server.url))
    r = run({ "chat", "-m", "lmstudio/one" }, { { content = "A" }, models "two", { content = "B" } },
      { input = "hi\n/model ollama_compat\nthere\n", env = { XDG_CONFIG_HOME = home } })
    folder.remove(home)
    assert.are.same({ 0, "A\nB\n" }, { r.code, r.out }, r.err)
    assert.are.equal("two", last_model())
  end)

  it("names the models of a server with several, or none", function()
    local r = run_there({ "ask", "-m", "llamacpp", "Hm?" }, { models("a", "b") })
    assert.are.same({ 2, "", "koine: a model is required (-m llamacpp/MODEL); there are a, b\n" },
      { r.code, r.out, r.err })
    r = run_there({ "ask", "-m", "llamacpp", "Hm?" }, { models() })
    assert.are.same({ 2, "", "koine: a model is required (-m llamacpp/MODEL)\n" }, { r.code, r.out, r.err })
    r = run { "ask", "-m", "llamacpp", "--retries", "0", "--base-url", "http://127.0.0.1:" .. cli.closed_port(), "Hm?" }
    assert.are.equal(1, r.code)
    assert.is_truthy(r.err:find "^koine: Failed to connect")
  end)

  it("takes the usual model of a provider that is named alone, and refuses a model alone", function()
    local r = run_there({ "ask", "-m", "anthropic", "Hm?" }, { { content = "Ah." } },
      { env = { ANTHROPIC_API_KEY = KEY } })
    assert.are.same({ 0, "Ah.\n", "koine: anthropic/claude-sonnet-4-5\n" }, { r.code, r.out, r.err })
    r = run { "ask", "-m", "gpt-4.1", "Hm?" }
    assert.are.same({ 2, 'koine: gpt-4.1: unknown provider; did you mean "openai/gpt-4.1"? '
      .. "(`koine doctor --offline` lists providers)\n" }, { r.code, r.err })
  end)

  it("says kind, status and attempts after retries, and only then", function()
    local busy = { error = { status = 503, message = "Busy.", headers = { ["retry-after-ms"] = "1" } } }
    local r = run_there({ "ask", "-m", "llamacpp/m", "Hm?" }, { busy, busy, busy })
    assert.are.same({ 1, "koine: Busy. (overloaded, status 503, 3 attempts)\n" }, { r.code, r.err })
    r = run_there({ "ask", "-m", "llamacpp/m", "--retries", "0", "Hm?" }, { busy })
    assert.are.equal("koine: Busy.\n", r.err)
  end)

  at_terminal("shows that a model is thinking, until it speaks, where there are no styles", function()
    assert(server:script { { content = { { type = "thinking", thinking = "Hm. " }, { type = "text", text = "Ah." },
      { type = "thinking", thinking = "So." }, { type = "text", text = "Oh." } } } })
    local child = cli.start({ "ask", "-m", "anthropic/claude-sonnet-4-5", "--thinking", "high", "--base-url",
      server.url, "Hm?" }, { env = { ANTHROPIC_API_KEY = KEY, NO_COLOR = "1" }, terminal = true })
    local r = child:wait()
    assert.are.equal(0, r.code)
    local shown = "waiting for claude-sonnet-4-5\27[?7h\r\27[K\27[?7lclaude-sonnet-4-5 is thinking\27[?7h\r\27[K"
      .. "Ah.Oh.\r\n"
    assert.is_truthy(r.out:find(shown, 1, true), r.out)
  end)
end)
