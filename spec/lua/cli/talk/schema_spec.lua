-- `koine ask --schema`, run as a program against the loopback provider: shapes in short and in files, what is written,
-- what goes wrong.

local cjson = require "cjson"
local cli = require "spec.support.cli"
local kit = require "spec.lua.cli.kit"

local SHORT = "name, age int, works [string]"
local ADA = '{"name":"Ada","age":36,"works":["Notes","a/b"]}'

describe("koine ask --schema", function()
  local bench = kit.new()

  local function ask(answers, arguments, options)
    local all = table.move(arguments, 1, #arguments, 2, { "ask" })
    return bench.run_there(all, answers, options)
  end

  local function bodies()
    local list = {}
    for i, request in ipairs(assert(bench.server:requests())) do
      assert.are.same({}, request.problems)
      list[i] = cjson.decode(request.body)
    end
    return list
  end

  it("writes JSON of the shape in one line, without other words", function()
    local r = ask({ { content = ADA } }, { "--schema", SHORT, "--system", "Be brief.", "Who?" })
    assert.are.same({ code = 0, signal = 0, err = "", out = '{"age":36,"name":"Ada","works":["Notes","a/b"]}\n' }, r)
    local body = bodies()[1]
    assert.is_truthy(cjson.encode(body):find('"works"', 1, true))
    assert.are.equal("Who?", body.messages[1].content[1].text)
    assert.is_truthy(cjson.encode(body.system):find("Be brief.", 1, true))
  end)

  it("reads the question from the standard input, and files", function()
    local notes = cli.file(bench.home .. "/notes.txt", "Ada was 36.")
    local r = ask({ { content = ADA } }, { "--schema", SHORT, "-f", notes }, { input = "Who is this?" })
    assert.are.equal(0, r.code, r.err)
    local content = bodies()[1].messages[1].content
    assert.are.same({ 2, "Who is this?" }, { #content, content[2].text })
  end)

  it("takes a schema in JSON, and one in a file", function()
    local schema = '{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}'
    local path = cli.file(bench.home .. "/shape.json", schema)
    local other = cli.file(bench.home .. "/shape", "ok bool")
    for _, given in ipairs { schema, path, other } do
      local r = ask({ { content = '{"ok":true}' } }, { "--schema", given, "Is it?" })
      assert.are.same({ 0, '{"ok":true}\n', "" }, { r.code, r.out, r.err })
    end
  end)

  it("keeps empty arrays and objects, null and numbers as they are", function()
    local value = '{"content":{},"list":[],"n":9007199254740993,"none":null,"notes":{},"x":0.5}'
    local shape = "content object, list [string], n int, none null, notes object, x number"
    local r = ask({ { content = value } }, { "--schema", shape, "What?" })
    assert.are.same({ 0, value .. "\n" }, { r.code, r.out }, r.err)
  end)

  local on_terminal = cli.on_terminal(it, pending)
  on_terminal("writes a line for each member on a terminal", function()
    local r = ask({ { content = '{"name":"Ada","age":36,"works":["Notes"]}' } }, { "--schema", SHORT, "Who?" },
      { terminal = true })
    local lines = '{\n  "age": 36,\n  "name": "Ada",\n  "works": [\n    "Notes"\n  ]\n}\n'
    assert.is_truthy(r.out:gsub("\r", ""):find(lines, 1, true), r.out)
  end)

  it("asks once more, then says what is wrong", function()
    local r = ask({ { content = '{"name":"Ada"}' }, { content = ADA } }, { "--schema", SHORT, "Who?" })
    assert.are.same({ 0, "" }, { r.code, r.err })
    assert.are.equal(2, #bodies())
    assert(bench.server:reset())
    r = ask({ { content = '{"name":"Ada"}' }, { content = '{"name":5}' } }, { "--schema", SHORT, "Who?" })
    assert.are.same({ 1, "" }, { r.code, r.out })
    assert.is_truthy(r.err:find("^koine: the answer does not fit: [^\n]*\n$"), r.err)
  end)

  it("fails where the answer was cut, refused or did not come", function()
    local r = ask({ { content = '{"name":"A', stop_reason = "max_tokens" } }, { "--schema", SHORT, "Who?" })
    assert.are.same({ 1, "" }, { r.code, r.out })
    assert.are.equal("koine: the answer was cut at its maximum (max_tokens): raise --max-tokens\n", r.err)
    r = ask({ { content = { { type = "refusal", text = "I would rather not." } }, stop_reason = "refusal" } },
      { "-m", "openai/gpt-4.1", "--schema", SHORT, "Who?" }, { env = { OPENAI_API_KEY = kit.KEY, HOME = bench.home } })
    assert.are.same({ 4, "" }, { r.code, r.out })
    assert.are.equal("koine: the model refused: I would rather not.\n", r.err)
    r = ask({ { error = { status = 400, message = "no such model" } } }, { "--schema", SHORT, "Who?" })
    assert.are.same({ code = 1, signal = 0, out = "", err = "koine: no such model\n" }, r)
  end)

  it("writes the whole Response with --json, whether or not it fits", function()
    local r = ask({ { content = ADA } }, { "--json", "--schema", SHORT, "Who?" })
    local response = cjson.decode(r.out)
    assert.are.same({ 0, 36, "end_turn" }, { r.code, response.output.age, response.stop_reason })
    r = ask({ { content = "Ada" }, { content = "Ada!" } }, { "--json", "--schema", SHORT, "Who?" })
    response = cjson.decode(r.out)
    assert.are.same({ 1, "not_json", "Ada!" }, { r.code, response.output_error.code, response.output_error.text })
    assert.is_truthy(r.err:find("^koine: "), r.err)
  end)

  it("refuses a schema that is none before it asks", function()
    local none = bench.home .. "/none.json"
    local bad = cli.file(bench.home .. "/bad.json", '{"type":"objct"}')
    for given, words in pairs { ["name, age itn"] = '--schema: type (did you mean "int"?)', [none] = none .. ": ",
      [bad] = bad .. ".type: ", ['{"type":'] = "--schema: ", [""] = "--schema: " } do
      local r = ask(nil, { "--schema", given, "Who?" })
      assert.are.same({ 2, "" }, { r.code, r.out })
      assert.are.equal("koine: " .. words, r.err:sub(1, 7 + #words))
    end
    local r = ask(nil, { "--schema", SHORT, "--stream", "Who?" })
    assert.are.equal("koine: --stream: with --schema the value is written when it is complete\n", r.err)
    assert.are.same({}, assert(bench.server:requests()))
  end)

  it("stands in the help, with examples", function()
    local r = bench.run { "ask", "--help" }
    assert.is_truthy(r.out:find('koine ask --schema "name, age int" "Who was Ada Lovelace?"', 1, true))
  end)
end)
