-- Templates: files that say how to ask, and their parameters; run as a program.

local cjson = require "cjson"
local cli = require "spec.support.cli"
local kit = require "spec.lua.cli.kit"

local AH = { { content = "Ah." } }

describe("koine's templates", function()
  local bench = kit.new()
  local folder

  before_each(function()
    folder = bench.dir .. "/config/koine/templates"
    assert(os.execute(("mkdir -p '%s'"):format(folder)))
  end)

  local function write(name, text) return cli.file(folder .. "/" .. name, text) end

  local function run(arguments, answers, input)
    return bench.run(arguments, answers, { input = input, env = { XDG_CONFIG_HOME = bench.dir .. "/config",
      HOME = bench.home, ANTHROPIC_API_KEY = kit.KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5" } })
  end

  local function asks(arguments, input)
    local r = run({ "ask", "--base-url", bench.server.url, table.unpack(arguments) }, AH, input)
    assert.are.same({ 0, "Ah.\n", "" }, { r.code, r.out, r.err })
    local requests = assert(bench.server:requests())
    local body = cjson.decode(requests[#requests].body)
    return body.messages[1].content[1].text, body
  end

  local function refuses(line, ...)
    local r = run { "ask", ... }
    assert.are.same({ 2, "", "koine: " .. line .. "\n" }, { r.code, r.out, r.err })
  end

  it("are texts around what the user says", function()
    write("sum.txt", "Sum up in $words words, for $$5, ${words}x:\n$input\n")
    assert.are.equal("Sum up in 7 words, for $5, 7x:\nA text.\n\nBe fair.",
      asks({ "-t", "sum", "-p", "words=7", "Be fair." }, "A text.\n"))
    write("plain.txt", "Say it in French.")
    assert.are.equal("Say it in French.\nHello.", asks({ "-t", "plain", "Hello." }))
    assert.are.equal("Say it in French.", asks { "-t", "plain" })
    assert.are.equal("Say it in French.\nHello.", asks({ "-t", folder .. "/plain.txt", "Hello." }))
  end)

  it("are tables of what there is to set, which the command line can change", function()
    write("translate.lua", [[return {
      description = "Translates a text.",
      system = "You translate into $language.", model = "anthropic/other",
      options = { temperature = 0.5, top_p = 0.5 }, defaults = { language = "French" } }]])
    local said, body = asks({ "-t", "translate", "Hello." })
    assert.are.same({ "Hello.", "You translate into French.", "other", 0.5 }, { said, body.system, body.model,
      body.temperature })
    said, body = asks({ "-t", "translate", "-p", "language=Greek", "-m", "anthropic/third", "-o", "top_p=0.75",
      "Hello." })
    assert.are.same({ "Hello.", "You translate into Greek.", "third", 0.5, 0.75 }, { said, body.system, body.model,
      body.temperature, body.top_p })
    said, body = asks({ "-t", "translate", "-s", "Be brief.", "Hello." })
    assert.are.same({ "Hello.", "Be brief." }, { said, body.system })
  end)

  it("are as the page shows them", function()
    write("translate.lua", kit.shown "templates/translate.lua")
    local said, body = asks({ "-t", "translate", "-m", "anthropic/m", "-p", "language=Greek", "Good morning." })
    assert.are.same({ "Good morning.", "You translate into Greek. Answer with the translation only.", 0.2 },
      { said, body.system, body.temperature })
  end)

  it("shape answers", function()
    write("code.lua", "return { prompt = 'Code: $input', extract = true }")
    local r = run({ "ask", "--base-url", bench.server.url, "-t", "code", "x" }, { { content = "So:\n```\ny\n```" } })
    assert.are.same({ 0, "y\n", "" }, { r.code, r.out, r.err })
    write("shape.lua", "return { schema = 'name, age int' }")
    r = run({ "ask", "--base-url", bench.server.url, "-t", "shape", "x" }, { { content = '{"age":3,"name":"a"}' } })
    assert.are.same({ 0, '{"age":3,"name":"a"}\n', "" }, { r.code, r.out, r.err })
    write("table.lua", "return { schema = { type = 'object', properties = { a = { type = 'integer' } } } }")
    r = run({ "ask", "--base-url", bench.server.url, "-t", "table", "x" }, { { content = '{"a":3}' } })
    assert.are.same({ 0, '{"a":3}\n', "" }, { r.code, r.out, r.err })
  end)

  it("go round each line of a chat", function()
    write("loud.lua", "return { prompt = 'Loudly: $input', system = 'S.' }")
    local r = run({ "chat", "--base-url", bench.server.url, "-t", "loud" }, { { content = "A!" }, { content = "B!" } },
      "one\ntwo\n")
    assert.are.same({ 0, "A!\nB!\n", "" }, { r.code, r.out, r.err })
    local body = cjson.decode(assert(bench.server:requests())[2].body)
    assert.are.same({ "Loudly: one", "Loudly: two", "S." }, { body.messages[1].content[1].text,
      body.messages[3].content[1].text, body.system })
  end)

  it("say what is wrong", function()
    local sum = write("summary.txt", "In $words words: $input")
    write("loud.txt", "Loud.")
    refuses('-t: there is no template sumary; did you mean "summary"?', "-t", "sumary", "x")
    refuses("-t: there is no template other; known are loud, summary", "-t", "other", "x")
    refuses(sum .. ": a value of $words is required (-p words=…)", "-t", "summary", "x")
    refuses(sum .. ": a text is required ($input)", "-t", "summary", "-p", "words=7")
    refuses("-p word: unknown parameter of " .. sum .. '; did you mean "words"?', "-t", "summary", "-p", "word=7", "x")
    refuses("-p: a template is required (-t NAME)", "-p", "word=7", "x")
    refuses('-p: name=value expected, got "7" (see `koine ask --help`)', "-t", "summary", "-p", "7", "x")
    local bad = write("bad.lua", "return {\n promt = 'x' }")
    refuses(bad .. ':2: promt: unknown field; did you mean "prompt"?', "-t", "bad", "x")
    assert(os.execute(("mkdir '%s/odd.lua'"):format(folder))) -- there, but cannot be read
    write("odd.txt", "Odd.")
    refuses(folder .. "/odd.lua: Is a directory", "-t", "odd", "x")
    bad = write("bad.lua", "return { prompt = os.getenv 'HOME' }")
    refuses(bad .. ":1: attempt to index a nil value (global 'os')", "-t", "bad", "x")
    write("theft.lua", [[return { options = { base_url = "http://127.0.0.1:1" } }]])
    refuses("base_url: this is an option of the constructor, not of a call", "-t", "theft", "x")
    assert.are.equal(0, #assert(bench.server:requests()))
  end)

  it("are listed and shown", function()
    write("translate.lua", [[return { description = "Translates.", system = "Into $language.", prompt = "$input",
      defaults = { language = "French" } }]])
    write("sum.txt", "Sum up:\n$input")
    write("sum.lua", "return { prompt = 'Sum up all: $input' }")
    write("notes.md", "no template")
    write("notes.lua~", "no template")
    write("bad.lua", "return {")
    local r = run { "templates" }
    assert.is_truthy(r.out:find("^bad +[^\n]+bad.lua:1: [^\n]+\nsum +Sum up all: $input\ntranslate +Translates.\n$"),
      r.out)
    r = run { "templates", "translate" }
    assert.are.equal("file        " .. folder .. "/translate.lua\ntakes       -p language=…\ndescription Translates.\n"
      .. 'system      Into $language.\nprompt      $input\ndefaults    {"language":"French"}\n', r.out)
    assert.are.equal(2, run({ "templates", "none" }).code)
    write("odd.lua", [[return { options = { max_tokens = 9, api_key = "hush", f = ("").rep },
      schema = { f = ("").rep } }]])
    r = run { "templates", "odd" }
    assert.are.equal("file        " .. folder .. '/odd.lua\noptions     {"api_key":"[redacted]","f":"(function)",'
      .. '"max_tokens":9}\nschema      {"f":"(function)"}\n', r.out)
  end)
end)
