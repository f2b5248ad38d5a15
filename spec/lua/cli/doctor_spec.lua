-- `koine doctor`, run as a program.

local cli = require "spec.support.cli"
local kit = require "spec.lua.cli.kit"
local koine = require "koine"
local mixed_width = require "spec.lua.system.executor.mixed_width"
local rows = require "koine.provider"

local KEY = kit.KEY

describe("koine", function()
  local bench = kit.new()
  local run, run_there = bench.run, bench.run_there

  describe("doctor", function()
    it("names every provider's variable as its row has it, and sends no request offline", function()
      local r = run({ "doctor", "--offline" }, nil, { env = { GROQ_API_KEY = KEY, HOME = bench.home } })
      assert.are.same({ 0, "" }, { r.code, r.err })
      local versions = ("%s, koine %s, libcurl %s\n"):format(_VERSION, koine.version, koine.libcurl)
      assert.are.equal(versions, r.out:sub(1, #versions))
      for _, name in ipairs { "argparse", "cjson", "luv" } do assert.is_truthy(r.out:find("\n" .. name .. " %d+%.")) end
      local listed = {}
      for name, variable, rest in r.out:gmatch "\n([%l_]+) +([%u_]+) +([^\n]*)" do
        listed[name] = variable
        local is_local = rows.load(name).key_optional
        assert.are.equal(name == "groq" and "set     not asked" or is_local and "not set not asked"
          or "not set no credentials", rest)
      end
      for _, name in ipairs(rows.names) do
        local row = rows.load(name)
        if row.env then assert.are.equal(row.env[1], listed[name], name) end
        listed[name] = nil
      end
      assert.is_nil(next(listed))
    end)

    it("asks those that have a key", function()
      local r = run_there({ "doctor" }, nil, { env = { ANTHROPIC_API_KEY = KEY, PERPLEXITY_API_KEY = KEY } })
      assert.is_truthy(r.out:find "anthropic +ANTHROPIC_API_KEY +set +answers, 25 models\n")
      assert.is_truthy(r.out:find "perplexity +PERPLEXITY_API_KEY +set +Perplexity does not implement list_models\n")
      assert.are.equal(0, r.code)
    end)

    it("looks at every variable of a provider, and at other ways to log in", function()
      local r = run({ "doctor", "--offline" }, nil, { env = { GOOGLE_API_KEY = KEY, AWS_ACCESS_KEY_ID = "AKIDEXAMPLE1",
        AWS_SECRET_ACCESS_KEY = "secret-of-amazon", AWS_REGION = "eu-west-1", HOME = bench.home } })
      assert.is_truthy(r.out:find "\ngemini +GOOGLE_API_KEY +set +not asked\n")
      assert.is_truthy(r.out:find "\nbedrock +AWS_BEARER_TOKEN_BEDROCK +not set +not asked\n")
      assert.is_truthy(r.out:find "\nazure +AZURE_OPENAI_API_KEY +not set +no credentials\n")
      assert.is_nil(r.out:find "secret%-of")
      local at
      for name, variable, set in r.out:gmatch "\n([%l_]+ +)([%u_]+ +)([ns][^ ]*)" do
        if set == "set" or set == "not" then
          at = at or #name .. " " .. #variable
          assert.are.equal(at, #name .. " " .. #variable)
        end
      end
    end)

    it("says what commands of tools can read of it", function()
      if mixed_width() then pending "a program of 32 bits on a kernel of 64" end
      local said = run({ "doctor", "--offline" }).out:match "\ncommands of tools: ([^\n]*)\n"
      assert.are.equal("they cannot read this program's environment or memory", said)
    end)

    it("fails where one does not answer", function()
      local r = run({ "doctor", "--base-url", "http://127.0.0.1:" .. cli.closed_port() })
      assert.are.equal(1, r.code)
      assert.is_truthy(r.out:find "anthropic +ANTHROPIC_API_KEY +set +Failed to connect")
      r = run({ "doctor" }, nil, { env = { AZURE_OPENAI_API_KEY = KEY } })
      assert.is_truthy(r.out:find "azure +AZURE_OPENAI_API_KEY +set +%-%-base%-url: URL of the server to talk to")
    end)
  end)
end)
