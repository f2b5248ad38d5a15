-- `koine embed`, run as a program against the loopback provider: arguments and lines, its three outputs, what goes
-- wrong.

local cjson = require "cjson"
local kit = require "spec.lua.cli.kit"
local koine = require "koine"

describe("koine embed", function()
  local bench = kit.new()

  local function run(arguments, options)
    options = options or {}
    options.env = options.env or { OPENAI_API_KEY = kit.KEY, HOME = bench.home }
    return bench.run_there(arguments, nil, options)
  end

  local function body()
    local requests = assert(bench.server:requests())
    return cjson.decode(requests[#requests].body)
  end

  it("writes a vector a line for each argument", function()
    local r = run { "embed", "a text", "another", "--dimensions", "8", "--purpose", "query" }
    assert.are.equal(0, r.code, r.err)
    local lines = {}
    for line in r.out:gmatch "[^\n]+" do lines[#lines + 1] = cjson.decode(line) end
    assert.are.same({ 2, 8 }, { #lines, #lines[2] })
    assert.is_true(math.abs(koine.vector.norm(lines[1]) - 1) < 1e-6)
    local sent = body()
    assert.are.same({ "a text", "another" }, sent.input)
    assert.are.equal("text-embedding-3-small", sent.model)
  end)

  it("reads lines, and writes the result whole", function()
    local r = run({ "embed", "-m", "openai/text-embedding-3-large", "--json" }, { input = "one\n\n two\r\n" })
    assert.are.equal(0, r.code, r.err)
    local result = cjson.decode(r.out)
    assert.are.same({ 2, 64, "text-embedding-3-large", 2 }, { #result.vectors, result.dimensions, result.model,
      result.usage.input_tokens })
    assert.are.same({ "one", " two" }, body().input)
  end)

  it("says that it left out lines, but not those behind the last", function()
    for text, said in pairs { ["one\n\n \ntwo\n"] = "standard input: blank lines have no vectors; left out: 2\n",
      ["\none"] = "standard input: blank lines have no vectors; left out: 1\n", ["one\r\ntwo\n\n\n"] = "" } do
      local r = run({ "embed", said == "" and "-" or nil }, { input = text })
      assert.are.equal(0, r.code)
      assert.are.equal(said == "" and "" or "koine: " .. said, r.err)
    end
  end)

  it("writes packed numbers", function()
    local r = run { "embed", "--packed", "--dimensions", "4", "x", "y" }
    assert.are.equal(0, r.code, r.err)
    assert.are.equal(32, #r.out)
    assert.is_true(math.abs(koine.vector.norm(r.out:sub(17)) - 1) < 1e-6)
  end)

  it("says what is wrong", function()
    local cases = {
      { { "embed" }, "a text is required", input = "\n" },
      { { "embed", "--dimensions", "x", "a" }, "dimensions" },
      { { "embed", "-m", "anthropic/m", "a" }, "does not implement embed" },
      { { "embed", "-m", "voyage", "a" }, "a model is required" },
      { { "embed", "a" }, "no key of a provider with embeddings",
        env = { HOME = bench.home, ANTHROPIC_API_KEY = kit.KEY } },
    }
    for _, case in ipairs(cases) do
      local r = run(case[1], { input = case.input, env = case.env })
      assert.is_truthy(r.code > 0)
      assert.are.equal("", r.out)
      assert.is_truthy(r.err:find(case[2], 1, true), r.err)
    end
  end)

  it("shows examples", function()
    local r = bench.run { "embed", "--help" }
    assert.is_truthy(r.out:find("koine embed --packed --dimensions 256 <lines.txt >vectors.f32", 1, true))
  end)
end)
