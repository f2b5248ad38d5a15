-- Configurations: each key, variables, and what is wrong with a file.

local config = require "koine.protocol.mcp.servers.config"
local core = require "koine.core"
local files = require "spec.support.files"
local folder = require "spec.support.folder"

local VARIABLES = { TOKEN = "secret-value-1", HOME_DIR = "/home/me", EMPTY = "" }

describe("a configuration", function()
  local dir, path

  before_each(function()
    dir = folder.new()
    path = dir .. "/mcp.json"
  end)
  after_each(function() folder.remove(dir) end)

  local function read(text)
    files.write(path, text)
    return config.read(path, function(name) return VARIABLES[name] end)
  end

  -- The only entry of a file with this one.
  local function entry(given)
    local entries, warnings = assert(read(core.encode { mcpServers = { one = given } }))
    assert.is_true(#entries <= 1)
    return entries[1], warnings
  end

  local function options(given) return assert(entry(given).options, "an entry that can be used") end

  local function why(given)
    local found = entry(given)
    assert.is_nil(found.options)
    return found.err.message, found.err
  end

  it("has programs", function()
    assert.are.same({ name = "one", command = "npx", args = { "-y", "pkg" }, env = { A = "1" }, cwd = "/tmp",
      secrets = {} }, options { command = "npx", args = core.array { "-y", "pkg" }, env = { A = "1" }, cwd = "/tmp" })
    assert.are.equal("npx", options({ type = "stdio", command = "npx", url = "http://x/" }).command)
    assert.is_nil(options({ type = "stdio", command = "npx", url = "http://x/" }).url)
  end)

  it("has remote servers, by each name of the URL and of the type", function()
    for _, key in ipairs { "url", "httpUrl", "serverUrl" } do
      assert.are.same({ name = "one", url = "https://a/mcp", headers = { A = "b" }, secrets = {} },
        options { [key] = "https://a/mcp", headers = { A = "b" } })
    end
    for _, word in ipairs { "http", "streamable-http", "streamableHttp", "HTTP" } do
      assert.are.equal("https://a/", options({ type = word, url = "https://a/", command = "x" }).url)
    end
  end)

  it("has what other programs say of a server", function()
    local found = entry { command = "a", timeout = 1500, includeTools = core.array { "x" },
      excludeTools = core.array { "y" }, trust = true }
    assert.are.same({ total = 1.5 }, found.options.timeout)
    assert.are.same({ "x" }, found.only)
    assert.are.same({ "y" }, found.except)
    assert.is_true(found.options.trusted)
    assert.is_nil(entry { command = "a", disabled = true })
    assert.are.equal("a", options({ command = "a", disabled = false }).command)
  end)

  it("fills variables in every string", function()
    local made = options { command = "${HOME_DIR}/bin", args = core.array { "--t=${env:TOKEN}", "${NONE:-x}",
      "${EMPTY}" }, env = { T = "${TOKEN:-none}", D = "${EMPTY:-d e}", ["${TOKEN}"] = "$TOKEN" } }
    assert.are.equal("/home/me/bin", made.command)
    assert.are.same({ "--t=secret-value-1", "x", "" }, made.args)
    assert.are.same({ T = "secret-value-1", D = "d e", ["${TOKEN}"] = "$TOKEN" }, made.env)
    assert.are.equal("Bearer secret-value-1",
      options({ url = "https://a/", headers = { Authorization = "Bearer ${TOKEN}" } }).headers.Authorization)
  end)

  it("takes the values of variables for secrets, but no defaults", function()
    assert.are.same({ "secret-value-1" }, options({ command = "a", args = core.array { "${TOKEN}", "${NONE:-default}",
      "${EMPTY}" } }).secrets)
  end)

  it("fails an entry whose variable is missing, and names it", function()
    local words, err = why { command = "a", env = { T = "${MISSING}" } }
    assert.are.equal("missing_variable", err.code)
    assert.is_truthy(words:find("the variable MISSING is not set", 1, true))
    assert.is_truthy(words:find('server "one"', 1, true))
    assert.is_truthy(why({ command = "a", args = core.array { "${env:MISSING}" } }):find("MISSING is not set", 1, true))
    assert.is_truthy(why({ command = "${input:token}" }):find("${input:token} is no variable", 1, true))
  end)

  it("fails an entry that cannot be used, alone", function()
    for _, case in ipairs { { {}, "a command or a url is missing" }, { { type = "sse", url = "http://x/" }, '"sse"' },
      { { type = "http", command = "a" }, "a url is missing" },
      { { type = "stdio", url = "http://x/" }, "a command is missing" },
      { { command = "a", url = "http://x/" }, "the type has to say" }, { { command = 5 }, "command: a string" },
      { { command = "a", args = "b" }, "args: an array of strings" }, { { command = "" }, "command: a string" },
      { { command = "a", args = core.array { 1 } }, "args: an array of strings" },
      { { command = "a", env = { A = 1 } }, "env: an object of strings" },
      { { url = "http://x/", headers = core.array {} }, "headers: an object of strings" },
      { { command = "a", timeout = 0 }, "timeout: a number of milliseconds" }, { "text", "an object expected" },
      { { command = "a", disabled = "no" }, "disabled: true or false" }, { core.array { "a" }, "an object expected" },
      { { command = "a", trust = 1 }, "trust: true or false" } } do
      local words, err = why(case[1])
      assert.is_truthy(words:find(case[2], 1, true), words)
      assert.are.equal("bad_config", err.code)
    end
    local entries = assert(read '{"mcpServers":{"b":{},"a":{"command":"x"}}}')
    assert.are.equal("x", entries[1].options.command)
    assert.are.equal("b", entries[2].name)
  end)

  it("shows no value of the file in an error", function()
    for _, given in ipairs { { command = core.array { "secret-value-1" } },
      { url = 5, headers = { A = "secret-value-1" } },
      { command = "a", env = { A = "secret-value-1", B = 5 } } } do
      assert.is_nil(why(given):find("secret", 1, true))
    end
  end)

  it("warns of unknown keys", function()
    local entries, warnings = assert(read(core.encode { ["$schema"] = "s", inputs = core.array {}, servers = {
      one = { command = "a", autoApprove = core.array {}, ["b\nad"] = 1 } } }))
    assert.are.equal("a", entries[1].options.command)
    local fields = {}
    for i, warning in ipairs(warnings) do
      assert.are.equal("unknown_key", warning.code)
      fields[i] = warning.field
    end
    assert.are.same({ "inputs", "one.autoApprove", "one.b ad" }, fields)
  end)

  it("warns which key a misspelled one may mean", function()
    for wrong, right in pairs { includeTool = "includeTools", exclude_tools = "excludeTools", Disabled = "disabled",
      trusted = "trust", enviroment = "env", autoApprove = false, agrs = "args" } do
      local found, warnings = entry { command = "a", [wrong] = core.array {} }
      assert.are.equal("a", found.options.command)
      local hint = warnings[1].message:match 'did you mean "(.-)"'
      assert.are.equal(right or "none", hint or "none", wrong)
    end
    local _, warnings = assert(read '{"servers":{},"mcpServer":{"b":{"command":"x"}}}')
    assert.is_truthy(warnings[1].message:find('did you mean "mcpServers"?', 1, true))
  end)

  it("may be called servers; mcpServers counts where both are there", function()
    assert.are.equal("a", assert(read '{"servers":{"a":{"command":"x"}}}')[1].name)
    local entries, warnings = assert(read '{"servers":{"a":{"command":"x"}},"mcpServers":{"b":{"command":"x"}}}')
    assert.are.equal("b", entries[1].name)
    assert.are.equal("servers", warnings[1].field)
    assert.are.equal(0, #assert(read '{"mcpServers":{}}'))
  end)

  it("may begin with a byte order mark", function()
    assert.are.equal("a", assert(read '\xEF\xBB\xBF{"servers":{"a":{"command":"x"}}}')[1].name)
  end)

  it("is refused with the place of what is wrong", function()
    for text, words in pairs { ['{\n  "mcpServers": {\n    // mine\n  }\n}'] = "line 3, column 5: JSON has no comments",
      ['{ /* mine */ }'] = "line 1, column 3: JSON has no comments", ['{ # mine\n}'] = "line 1, column 3: JSON has no",
      ['{"mcpServers":{"a":{"command":"x",}}}'] = "line 1, column 35: JSON: a key expected",
      ['[]'] = "a JSON object expected", ['{}'] = 'an object "mcpServers" or "servers" expected',
      ['{"mcpServers":[]}'] = 'an object "mcpServers"', [""] = "line 1, column 1: " } do
      local none, err = read(text)
      assert.is_nil(none)
      assert.are.equal("bad_config", err.code)
      assert.is_truthy(err.message:find(path .. ": " .. words, 1, true), err.message)
    end
  end)

  it("is an error where there is no file", function()
    local none, err = config.read(dir .. "/none.json", os.getenv)
    assert.is_nil(none)
    assert.are.equal("absent", err.code)
  end)
end)
