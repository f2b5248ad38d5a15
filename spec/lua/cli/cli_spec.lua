-- bin/koine as a child process against the loopback provider: every command but chat, what goes wrong, and exit codes.

local cjson = require "cjson"
local cli = require "spec.support.cli"
local kit = require "spec.lua.cli.kit"
local koine = require "koine"
local strerror = require "spec.support.strerror"

local KEY = kit.KEY
local TEXT = string.rep("All that glitters. ", 200)
local CUT = "koine: the answer was cut at its maximum (max_tokens): raise --max-tokens\n"
local PNG, PDF = "\x89PNG\r\n\x1A\n\0\1", "%PDF-1.4\n\0\1"

describe("koine", function()
  local bench = kit.new()
  local run, run_there = bench.run, bench.run_there

  local function sent()
    local requests = assert(bench.server:requests())
    local last = requests[#requests]
    return cjson.decode(last.body), last, #requests
  end

  -- Exit code, nothing on the standard output, and exactly this one line.
  local function refuses(code, line, r)
    assert.are.same({ code = code, signal = 0, out = "", err = "koine: " .. line .. "\n" }, r)
  end

  describe("ask", function()
    it("prints the answer, and sends what was asked with the key", function()
      local r = run_there({ "ask", "Is", "it?" }, { { content = "Yes." } })
      assert.are.same({ code = 0, signal = 0, out = "Yes.\n", err = "" }, r)
      local body, request = sent()
      assert.are.same({ { role = "user", content = { { type = "text", text = "Is it?" } } } }, body.messages)
      assert.are.equal(KEY, request.headers["x-api-key"])
      assert.are.equal("claude-sonnet-4-5", body.model)
    end)

    it("puts files, the standard input and the words in this order", function()
      local notes = cli.file(bench.home .. "/notes.txt", "Of no use.")
      local png, pdf = cli.file(bench.home .. "/a.jpg", PNG), cli.file(bench.home .. "/b", PDF)
      local r = run_there({ "ask", "-f", notes, "-f", png, "-f", pdf, "Why?" }, { { content = "So." } },
        { input = "piped\n" })
      assert.are.equal("So.\n", r.out, r.err)
      local blocks = sent().messages[1].content
      assert.are.equal(('<file path="%s">\nOf no use.\n</file>'):format(notes), blocks[1].text)
      assert.are.same({ "image", "image/png", "iVBORw0KGgoAAQ==" },
        { blocks[2].type, blocks[2].source.media_type, blocks[2].source.data })
      assert.are.same({ "document", "application/pdf", "JVBERi0xLjQKAAE=" },
        { blocks[3].type, blocks[3].source.media_type, blocks[3].source.data })
      assert.are.same({ "piped\n", "Why?", 5 }, { blocks[4].text, blocks[5].text, #blocks })
    end)

    it("sends images and documents of further kinds, and kinds of text as text", function()
      local heic = cli.file(bench.home .. "/h", "\0\0\0\24ftypheic\0")
      local word = cli.file(bench.home .. "/a.docx", "PK\3\4\20\0")
      local page = cli.file(bench.home .. "/a.html", "<p>Hi</p>")
      run_there({ "ask", "-f", heic, "-f", word, "-f", page, "Why?" }, { { content = "So." } })
      local blocks = sent().messages[1].content
      assert.are.same({ "image", "image/heic" }, { blocks[1].type, blocks[1].source.media_type })
      assert.are.equal("document", blocks[2].type)
      assert.is_truthy(blocks[2].source.media_type:find("wordprocessingml", 1, true))
      assert.are.equal(('<file path="%s">\n<p>Hi</p>\n</file>'):format(page), blocks[3].text)
    end)

    it("takes the standard input alone", function()
      assert.are.equal("Yes.\n", run_there({ "ask" }, { { content = "Yes." } }, { input = "Is it?" }).out)
      assert.are.equal("Is it?", sent().messages[1].content[1].text)
    end)

    it("takes - as the only word for the standard input", function()
      local there = "base_url=" .. bench.server.url
      for _, words in ipairs { { "ask", "-", "-o", there }, { "-", "-o", there }, { "-o", there, "--", "-" } } do
        assert.are.equal("Yes.\n", run(words, { { content = "Yes." } }, { input = "Is it?\n" }).out)
        local content = sent().messages[1].content
        assert.are.same({ 1, "Is it?\n" }, { #content, content[1].text })
      end
      run_there({ "ask", "-", "x" }, { { content = "Yes." } })
      assert.are.equal("- x", sent().messages[1].content[1].text)
      refuses(2, "a prompt is required, as an argument or on the standard input", run { "ask", "-" })
    end)

    it("sends its options", function()
      local r = run_there({ "ask", "--system", "Be brief.", "--max-tokens", "9000", "--thinking", "2000", "-o",
        "temperature=1", "-o", "keep_raw", "-o", "top_p=x", "Hm?" })
      refuses(2, 'top_p: number from 0 to 1 expected, got "x"', r)
      r = run_there({ "ask", "--system", "Be brief.", "--max-tokens", "9000", "--thinking", "2000", "-o",
        "cache_retention=short", "-o", "keep_raw", "Hm?" }, { { content = "Ah." } })
      assert.are.equal("Ah.\n", r.out, r.err)
      local body = sent()
      assert.are.same({ 9000, 2000, "Be brief." },
        { body.max_tokens, body.thinking.budget_tokens, body.system[1].text })
      run_there({ "ask", "--thinking", "off", "Hm?" }, { { content = "Ah." } })
      assert.are_not.equal("enabled", (sent().thinking or {}).type)
    end)

    it("names the model it chose, the first with a key", function()
      local r = run_there({ "ask", "Hm?" }, { { content = "Ah." } },
        { env = { OPENAI_API_KEY = KEY, HOME = bench.home } })
      assert.are.same({ "Ah.\n", "koine: openai/gpt-4.1 (-m or KOINE_MODEL chooses another)\n" }, { r.out, r.err })
      r = run({ "ask", "--base-url", bench.server.url .. "/v1beta", "Hm?" }, { { content = "Ah." } },
        { env = { GOOGLE_API_KEY = KEY } })
      assert.are.same({ "Ah.\n", "koine: gemini/gemini-3.5-flash (-m or KOINE_MODEL chooses another)\n" },
        { r.out, r.err })
      r = run_there({ "ask", "-m", "groq/fast", "Hm?" }, { { content = "Ah." } }, { env = { GROQ_API_KEY = KEY } })
      assert.are.same({ "Ah.\n", "", "fast" }, { r.out, r.err, sent().model })
    end)

    it("-f waits for a pipe that the shell has opened", function()
      local r = run_there({ "ask", "-f", "/dev/fd/0", "Hm?" }, { { content = "Ah." } }, { shell = "echo piped | %s" })
      assert.are.same({ "Ah.\n", "" }, { r.out, r.err })
      assert.are.equal('<file path="/dev/fd/0">\npiped\n\n</file>', sent().messages[1].content[1].text)
    end)

    it("--json writes the whole Response, empty lists as lists", function()
      local r = run_there({ "ask", "--json", "Hm?" }, { { content = {}, usage = { input_tokens = 7, output_tokens = 0 },
        model = "m-1" } })
      local decoded = cjson.decode(r.out)
      assert.are.same({ "m-1", "end_turn", 7, "anthropic" },
        { decoded.model, decoded.stop_reason, decoded.usage.input_tokens, decoded.provider })
      assert.is_truthy(r.out:find('"content":[]', 1, true))
      assert.is_truthy(r.out:find('"tool_calls":[]', 1, true))
      assert.is_truthy(r.out:find('"warnings":[]}\n', 1, true))
      assert.are.equal("koine: the answer is empty\n", r.err)
    end)

    it("--json writes the bytes of logprobs, which may be no text, as numbers", function()
      local r = run_there({ "ask", "--json", "-m", "vllm/m", "-o", "logprobs=true", "Hm?" }, { { reply = { body =
        '{"choices":[{"message":{"content":"é"},"finish_reason":"stop","logprobs":{"content":['
        .. '{"token":"a","logprob":-0.5,"bytes":[195]},{"token":"b","logprob":-1,"bytes":[169]}]}}]}' } } })
      assert.is_truthy(r.out:find('"logprobs":[{"bytes":[195],"logprob":-0.5,"token":"a","top":[]},'
        .. '{"bytes":[169],"logprob":-1,"token":"b","top":[]}]', 1, true), r.out .. r.err)
    end)

    it("--json writes the arguments of calls as they came", function()
      local given = '{"content":{},"list":[],"notes":{},"more":{"items":[[]],"tool_calls":{}}}'
      local r = run_there({ "ask", "--json", "Hm?" }, { { content = { { type = "tool_use", id = "c1", name = "f",
        arguments_json = given } } } })
      assert.is_truthy(r.out:find(
        '"arguments":{"content":{},"list":[],"more":{"items":[[]],"tool_calls":{}},"notes":{}}', 1, true), r.out)
    end)

    it("--stream writes what is there while the rest is not", function()
      assert(bench.server:script { { content = TEXT, chunk = 10, fault = { stall_after = 3000 } } })
      local child = cli.start({ "ask", "--stream", "--base-url", bench.server.url, "-m", "anthropic/m", "Hm?" },
        { env = { ANTHROPIC_API_KEY = KEY } })
      child:close_input()
      child:expect("out", "All that glitters.")
      child:signal "sigint"
      local r = child:wait()
      assert.are.same({ 130, 0, "" }, { r.code, r.signal, r.err })
      assert.are.equal(TEXT:sub(1, #r.out - 1) .. "\n", r.out)
    end)

    cli.on_terminal(it, pending)("ends by Ctrl-C while nothing comes at all", function()
      assert(bench.server:script { { content = "late", fault = { stall_after = 0 } } })
      local child = cli.start({ "ask", "--base-url", bench.server.url, "-m", "anthropic/m", "Hm?" },
        { env = { ANTHROPIC_API_KEY = KEY }, terminal = true })
      child:expect("out", "waiting for m")
      repeat local asked = #assert(bench.server:requests()) until asked == 1
      child:write "\3"
      assert.are.equal(130, child:wait().code)
    end)

    it("says what was refused, cut or left out", function()
      local r = run_there({ "ask", "Hm?" }, { { content = "No.", stop_reason = "refusal" } })
      assert.are.same({ 4, "No.\n", "koine: the model refused\n" }, { r.code, r.out, r.err })
      r = run_there({ "ask", "Hm?" }, { { content = "Well, ", stop_reason = "max_tokens" } })
      assert.are.same({ 0, "Well, \n", CUT }, { r.code, r.out, r.err })
      r = run_there({ "ask", "Hm?" }, { { content = { { type = "refusal", text = "Not this." } } } })
      assert.are.same({ 4, "koine: the model refused: Not this.\n" }, { r.code, r.err })
      r = run({ "ask", "-m", "gemini/gemini-2.5-pro", "--base-url", bench.server.url .. "/v1beta", "Hm?" },
        { { reply = { body = '{"promptFeedback":'
        .. '{"blockReason":"SAFETY","blockReasonMessage":"Not this."},"usageMetadata":{"promptTokenCount":3}}' } } },
        { env = { GEMINI_API_KEY = KEY } })
      assert.are.same({ 4, "koine: a filter stopped the answer (sensitive): Not this.\n" }, { r.code, r.err })
      r = run_there({ "ask", "-m", "openai/gpt-4.1", "Hm?" },
        { { content = { { type = "refusal", text = "I must not." } } } }, { env = { OPENAI_API_KEY = KEY } })
      assert.are.equal(4, r.code)
      assert.are.equal("koine: the model refused: I must not.\n", r.err)
      r = run_there({ "ask", "-m", "openai/o3", "-o", "temperature=0.5", "-o", "api=chat", "Hm?" },
        { { content = "Ah." } }, { env = { OPENAI_API_KEY = KEY } })
      assert.are.same({ 0, "koine: warning: temperature: the model refuses it: left out\n" }, { r.code, r.err })
    end)
  end)

  describe("says in one line", function()
    it("wrong use of options and commands", function()
      refuses(2, "a prompt is required, as an argument or on the standard input", run {})
      refuses(2, "--jsn: unknown option; did you mean --json? (`koine ask --help` lists all)", run { "ask", "--jsn" })
      refuses(2, "--wrong: unknown option (`koine models --help` lists all)", run { "models", "--wrong=1" })
      refuses(2, "nope: unknown provider (`koine doctor --offline` lists providers)", run { "models", "nope" })
      refuses(2, "option '--no-stream' can not be used together with option '--stream' (see `koine ask --help`)",
        run { "ask", "--stream", "--no-stream" })
      refuses(2, "argument 'provider' must be one of 'copilot' (see `koine login --help`)", run { "login", "openai" })
      refuses(2, 'antropic: unknown provider; did you mean "anthropic"? (`koine doctor --offline` lists providers)',
        run { "ask", "-m", "antropic/x", "Hm?" })
      for _, name in ipairs { "k", "bin", "1", ":" } do -- also where the name stands in the path of the program
        local r = run { "ask", "-m", name .. "/x", "Hm?" }
        assert.are.equal("koine: " .. name .. ": unknown provider", r.err:match "^.-: unknown provider")
      end
      refuses(2, 'tempratur: unknown option; did you mean "temperature"?', run { "ask", "-o", "tempratur=1", "Hm?" })
      refuses(2, "a prompt is required, as an argument or on the standard input", run { "ask", " " })
      refuses(2, "a model is required (-m together/MODEL or KOINE_MODEL)",
        run({ "ask", "Hm?" }, nil, { env = { TOGETHER_API_KEY = KEY } }))
    end)

    it("which flag was used wrongly, in the words of the command line", function()
      for flag, case in pairs { ["--max-tokens"] = { "many", "integer, 0 or more" },
        ["--retries"] = { "-1", "integer, 0 or more" }, ["--timeout"] = { "x", "seconds in total" },
        ["--thinking"] = { "wow", "low, medium, high, a number of tokens or off" } } do
        refuses(2, ('%s: %s expected, got "%s"'):format(flag, case[2], case[1]), run { "ask", flag, case[1], "Hm?" })
      end
      refuses(2, '--retries: integer, 0 or more expected, got "x"', run { "ask", "--retries=x", "Hm?" })
      refuses(2, '--timeout: number of seconds, at most 1e9, 0 for no limit expected, got "-1"',
        run { "chat", "--timeout", "-1" })
      refuses(2, '--thinking: integer, 0 or more expected, got "-5"', run { "ask", "--thinking", "-5", "Hm?" })
      refuses(2, "--base-url: http:// or https:// URL expected", run { "ask", "--base-url", "x", "Hm?" })
      refuses(2, "--base-url: URL of the server to talk to expected",
        run({ "ask", "-m", "azure/m", "Hm?" }, nil, { env = { AZURE_OPENAI_API_KEY = KEY } }))
      for _, port in ipairs { "abc", "70000", "-1", "1.5" } do
        local message = '--port: number from 1 to 65535 expected, got "%s" (see `koine serve-loopback --help`)'
        refuses(2, message:format(port), run { "serve-loopback", "--port", port })
      end
    end)

    it("an option given twice, or of another command", function()
      refuses(2, "-o model: -m PROVIDER/MODEL chooses the model", run { "ask", "-o", "model=zz", "Hm?" })
      refuses(2, "-o base_url and --base-url: only one of them",
        run { "ask", "-o", "base_url=http://127.0.0.1:1", "--base-url", bench.server.url, "Hm?" })
      refuses(2, "--base-url and -o base_url: only one of them", run_there { "ask", "-o", "base_url=x", "Hm?" })
      refuses(2, "--base-url: given twice", run_there { "ask", "--base-url", "x", "Hm?" })
      refuses(2, "-o retry and --retries: only one of them", run { "models", "-o", "retry=false", "--retries", "1" })
      refuses(2, "-o top_p: given twice", run { "ask", "-o", "top_p=1", "-o", "top_p=0", "Hm?" })
      assert.are.equal(0, #assert(bench.server:requests()))
    end)

    it("words of the prompt behind --, as they are", function()
      assert.are.equal("Ah.\n", run_there({ "ask", "--", "--retries", "-1" }, { { content = "Ah." } }).out)
      assert.are.equal("--retries -1", sent().messages[1].content[1].text)
    end)

    it("that there is no key", function()
      local env = {}
      refuses(3, "no key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY, …: `koine doctor` names them all)",
        run({ "ask", "Hm?" }, nil, { env = env }))
      refuses(3, "no key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY, …: `koine doctor` names them all)",
        run({ "ask", "Hm?" }, nil, { env = { AWS_ACCESS_KEY_ID = "AKIDEXAMPLE1", AWS_REGION = "eu-west-1",
          AWS_SECRET_ACCESS_KEY = "secret-of-amazon" } }))
      refuses(3, "Anthropic: no key: set ANTHROPIC_API_KEY",
        run({ "ask", "-m", "anthropic/m", "Hm?" }, nil, { env = env }))
      refuses(3, "GitHub Copilot: no GitHub token to ask for quotas with; `koine login copilot` logs in",
        run({ "usage" }, nil, { env = { HOME = bench.home .. "/nobody" } }))
      assert.are.equal(0, #assert(bench.server:requests()))
    end)

    it("that the key is refused, without showing it", function()
      refuses(3, "invalid key (authorization: [redacted])",
        run_there({ "ask", "Hm?" }, { { content = "x", fault = { echo_authorization = true } } }))
    end)

    it("that is not answered", function()
      local r = run { "ask", "--base-url", "http://127.0.0.1:" .. cli.closed_port(), "--retries", "0", "Hm?" }
      assert.are.same({ 1, "" }, { r.code, r.out })
      assert.is_truthy(r.err:find "^koine: Failed to connect to 127%.0%.0%.1 port %d+[^\n]*\n$")
    end)

    it("the provider's error, after as many attempts as were asked for", function()
      local overloaded = { error = { status = 529, message = "Too\nmuch.", headers = { ["retry-after-ms"] = "1" } } }
      refuses(1, "Too much. (overloaded, status 529, 2 attempts)",
        run_there({ "ask", "--retries", "1", "Hm?" }, { overloaded, overloaded }))
      assert.are.equal(2, #assert(bench.server:requests()))
      assert.are.equal("Ah.\n", run_there({ "ask", "Hm?" }, { overloaded, overloaded, { content = "Ah." } }).out)
    end)

    it("that the time is over", function()
      refuses(1, "not finished within 0.050 s (total)",
        run_there({ "ask", "--timeout", "0.05", "Hm?" }, { { content = "x", fault = { stall_after = 0 } } }))
    end)

    it("that a stream broke off, behind what came of it", function()
      local r = run_there({ "ask", "--stream", "--retries", "0", "Hm?" },
        { { content = TEXT, chunk = 10, fault = { end_after = 3000 } } })
      assert.are.equal(1, r.code)
      assert.are.equal(TEXT:sub(1, #r.out - 1) .. "\n", r.out)
      assert.is_truthy(r.err:find "^koine: [^\n]+\n$")
    end)

    it("a fault of a file", function()
      refuses(2, bench.home .. "/none: " .. strerror "ENOENT", run { "ask", "-f", bench.home .. "/none", "Hm?" })
      refuses(2, bench.home .. ": " .. strerror "EISDIR", run { "ask", "-f", bench.home, "Hm?" })
      refuses(2, "/dev/zero: it is no regular file", run { "ask", "-f", "/dev/zero", "Hm?" })
      local large = bench.home .. "/large"
      assert(os.execute(("truncate -s %d '%s'"):format((20 << 20) + 1, large)))
      refuses(2, large .. ": larger than 20 MiB", run { "ask", "-f", large, "Hm?" })
      local binary = cli.file(bench.home .. "/binary", "ELF\0\1")
      refuses(2, binary .. ": neither text nor an image (PNG, JPEG, GIF, WebP, …) nor a PDF or an office document",
        run { "ask", "-f", binary, "Hm?" })
    end)

    it("a fault of the standard input", function()
      refuses(2, "standard input: neither text nor an image (PNG, JPEG, GIF, WebP, …) nor a PDF or an office document",
        run({ "ask", "Hm?" }, nil, { input = "a\0b" }))
      refuses(2, "standard input: " .. strerror "EBADF", run({ "ask", "Hm?" }, nil, { shell = "%s <&-" }))
      local r = run_there({ "ask" }, { { content = "Ah." } }, { input = "caf\xE9" })
      assert.are.same({ "Ah.\n", "koine: standard input: not UTF-8; what is wrong goes out as U+FFFD\n" },
        { r.out, r.err })
      assert.are.equal("caf\u{FFFD}", sent().messages[1].content[1].text)
    end)
  end)

  describe("without a reader", function()
    it("ends quietly, whatever its parent does with SIGPIPE", function()
      local r = run_there({ "ask", "--stream", "Hm?" }, { { content = TEXT } }, { unread = true })
      assert.are.same({ 13, "" }, { r.signal, r.err })
      r = run_there({ "ask", "--stream", "Hm?" }, { { content = TEXT } }, { unread = true, shell = "trap '' PIPE; %s" })
      assert.are.same({ 141, "" }, { r.code, r.err })
    end)

    it("says that there is no room", function()
      refuses(1, "cannot write: " .. strerror "ENOSPC",
        run_there({ "ask", "Hm?" }, { { content = "x" } }, { shell = "%s >/dev/full" }))
    end)
  end)

  it("models lists what -m takes", function()
    local r = run_there { "models", "anthropic" }
    assert.are.equal("anthropic/loopback-01", r.out:match "^[^\n]*")
    assert.are.equal(25, select(2, r.out:gsub("\n", "")))
    assert.are.equal(r.out, run_there({ "models" }).out)
    local decoded = cjson.decode(run_there({ "models", "anthropic", "--json" }).out)
    assert.are.same({ 25, "loopback-02" }, { #decoded, decoded[2].id })
    refuses(2, "Perplexity does not implement list_models",
      run({ "models", "perplexity" }, nil, { env = { PERPLEXITY_API_KEY = KEY } }))
  end)

  it("login shows where and what to enter, once; usage tells what is left", function()
    local github <close> = assert(koine.testing.start { copilot = { interval = 0.01 } })
    local env = { XDG_CONFIG_HOME = bench.home .. "/config" }
    local there = "github_host=" .. github.url
    local r = run({ "login", "copilot", "-o", there }, nil, { env = env })
    assert.are.same({ code = 0, signal = 0, out = "", err = ("koine: open %s/login/device and enter the code KOIN-0001 "
      .. "(15 minutes)\nkoine: logged in\n"):format(github.url) }, r)
    assert.are.equal("koine: logged in\n", run({ "login", "copilot", "-o", there }, nil, { env = env }).err)
    r = run({ "usage", "-o", there }, nil, { env = env })
    assert.are.equal("Premium requests     ok         250 of 300 requests left\n"
      .. "Chat                 ok         no limit\nCompletions          ok         no limit\n", r.out)
    local decoded = cjson.decode(run({ "usage", "--json", "-o", there }, nil, { env = env }).out)
    assert.are.equal("copilot:premium", decoded.limits[1].id)
    refuses(2, "anthropic has no quotas to ask for", run { "usage", "anthropic" })
    assert(github:copilot { device_flow = { "access_denied" } })
    r = run({ "login", "copilot", "-o", there }, nil, { env = { XDG_CONFIG_HOME = bench.home .. "/other" } })
    assert.are.equal(3, r.code)
    assert.is_truthy(r.err:find "^koine: open [^\n]*\nkoine: [^\n]*denied[^\n]*\n$", r.err)
  end)

  describe("serve-loopback", function()
    -- Starts it, asks it with `arguments`, ends it by Ctrl-C; what the asking gave.
    local function serve(arguments, ask)
      local child = cli.start(table.move(arguments, 1, #arguments, 2, { "serve-loopback" }))
      child:expect("out", "\n")
      local r = run { "ask", "--base-url", child.out:match "%S+", table.unpack(ask) }
      child:signal "sigint"
      assert.are.equal(130, child:wait().code)
      return r
    end

    it("echoes, until Ctrl-C", function() assert.are.equal("You said: Hm?\n", serve({}, { "Hm?" }).out) end)

    it("ends without a word of its server's at Ctrl-C of a terminal", function()
      local child = cli.start({ "serve-loopback" }, { terminal = true })
      child:expect("out", "\n")
      child:write "\3" -- to the whole process group
      local r = child:wait()
      assert.are.equal(130, r.code)
      assert.is_truthy(r.out:find "^http://127%.0%.0%.1:%d+\r\n%^C\r\n$", r.out)
    end)

    it("listens where it is told to, or says that it cannot", function()
      local taken <close> = assert(koine.testing.start())
      local r = run { "serve-loopback", "--port", tostring(taken.port) }
      local message = "koine: --port: free port expected, %d is in use (without --port koine finds one)\n"
      assert.are.same({ 1, message:format(taken.port) }, { r.code, r.err })
      assert.are.equal(2, run({ "serve-loopback", "--port", "70000" }).code)
      local port = taken.port
      taken:stop()
      local child = cli.start { "serve-loopback", "--port", tostring(port) }
      child:expect("out", ("http://127.0.0.1:%d\n"):format(port))
      child:signal "sigint"
      assert.are.equal(130, child:wait().code)
    end)

    it("plays a script", function()
      local script = cli.file(bench.home .. "/script.json",
        '[{"error": {"status": 429, "headers": {"retry-after-ms": "1"}}}, {"content": "Ah."}]')
      assert.are.equal("Ah.\n", serve({ "--script", script }, { "Hm?" }).out)
    end)

    it("refuses a bad script", function()
      refuses(2, bench.home .. "/bad: no JSON object or array",
        run { "serve-loopback", "--script", cli.file(bench.home .. "/bad", "[{") })
      local r = run { "serve-loopback", "--script", cli.file(bench.home .. "/worse", '[{"contents": "x"}]') }
      assert.are.equal(2, r.code)
      assert.are.equal('koine: answers[1]: unknown field "contents"\n', r.err)
      assert.are.equal(2, run({ "serve-loopback", "--echo", "--script", "x" }).code)
    end)
  end)

  it("explains itself", function()
    assert.are.equal("koine " .. koine.version .. "\n", run({ "--version" }).out)
    for _, name in ipairs { "ask", "chat", "models", "pull", "login", "usage", "doctor", "serve-loopback" } do
      local r = run { name, "--help" }
      assert.are.same({ 0, "" }, { r.code, r.err })
      assert.is_truthy(r.out:find("Usage: koine " .. name, 1, true))
      assert.is_truthy(run({ "--help" }).out:find("\n   " .. name, 1, true))
    end
  end)
end)
