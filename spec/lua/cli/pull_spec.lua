-- `koine pull`, run as a program against the loopback provider: lines, a bar on a terminal, what goes wrong.

local cli = require "spec.support.cli"
local cjson = require "cjson"
local kit = require "spec.lua.cli.kit"

local at_terminal = cli.on_terminal(it, pending)

describe("koine pull", function()
  local bench = kit.new()
  local run, run_there = bench.run, bench.run_there

  local function lines(...)
    return { path = "/api/pull", reply = { body = table.concat({ ... }, "\n") .. "\n" } }
  end

  local function piece(digest, total, completed)
    return cjson.encode { status = "pulling " .. digest, digest = "sha256:" .. digest, total = total,
      completed = completed }
  end

  local SUCCESS = '{"status":"success"}'

  -- The same lines, and then nothing for ever.
  local function stalled(...)
    local answer = lines(...)
    answer.fault = { stall_after = #answer.reply.body }
    answer.reply.body = answer.reply.body .. SUCCESS
    return answer
  end

  local function asked()
    local requests = assert(bench.server:requests())
    return cjson.decode(requests[#requests].body).model
  end

  it("says how far it is, a line a step", function()
    local r = run_there({ "pull", "loopback-01" })
    assert.are.same({ code = 0, signal = 0, out = "", err = "koine: pulling manifest\n"
      .. "koine: pulling 000000000000: 0% of 1.0 MB\nkoine: pulling 000000000000: 50% of 1.0 MB\n"
      .. "koine: pulling 000000000000: 100% of 1.0 MB\nkoine: verifying sha256 digest\nkoine: writing manifest\n"
      .. "koine: success\nkoine: ollama/loopback-01 is there\n" }, r)
    assert.are.equal("loopback-01", asked())
  end)

  it("says every tenth of a piece once, also where pieces interleave", function()
    local steps = {}
    for i = 0, 40 do steps[#steps + 1] = piece("aa", 4000, i * 100) end
    table.insert(steps, 11, piece("bb", 999))
    table.insert(steps, 13, piece("bb", 999, 999))
    steps[#steps + 1] = SUCCESS
    local r = run_there({ "pull", "m" }, { lines(table.unpack(steps)) })
    assert.are.equal(0, r.code, r.err)
    local _, count = r.err:gsub("\n", "")
    assert.are.equal(11 + 2 + 2, count, r.err)
    assert.is_truthy(r.err:find("koine: pulling aa: 20% of 4.0 kB\nkoine: pulling bb: 0% of 999 B\n"
      .. "koine: pulling bb: 100% of 999 B\nkoine: pulling aa: 30% of 4.0 kB\n", 1, true), r.err)
  end)

  it("takes a provider before the model, and models with slashes of their own", function()
    for word, model in pairs { ["ollama/qwen3:4b"] = "qwen3:4b", ["hf.co/org/model:Q4"] = "hf.co/org/model:Q4",
      ["ollama/anthropic/m"] = "anthropic/m", ["m/"] = "m/" } do
      local r = run_there({ "pull", word }, { lines(SUCCESS) })
      assert.are.equal(0, r.code, r.err)
      assert.are.equal(model, asked())
      assert.is_truthy(r.err:find("koine: ollama/" .. model .. " is there\n", 1, true), r.err)
    end
  end)

  it("goes to the server of OLLAMA_HOST", function()
    local r = run({ "pull", "loopback-02" }, nil, { env = { OLLAMA_HOST = bench.server.url } })
    assert.are.equal(0, r.code, r.err)
    assert.are.equal("loopback-02", asked())
  end)

  it("survives a server that says odd things", function()
    local r = run_there({ "pull", "m" }, { lines('{"status":"pulling a\\u001b[2J","digest":"a","total":"x"}', "{}",
      '{"status":"pulling b","digest":"b","total":0,"completed":5}',
      '{"status":"pulling c","digest":"c","total":10,"completed":99}',
      '{"status":"pulling d","digest":"d","total":10,"completed":-1}', '{"status":"pulling e","digest":7,"total":5}',
      SUCCESS) })
    assert.are.same({ 0, "koine: pulling a [2J\nkoine: pulling b\nkoine: pulling c: 100% of 10 B\n"
      .. "koine: pulling d: 0% of 10 B\nkoine: pulling e\nkoine: success\nkoine: ollama/m is there\n" },
      { r.code, r.err })
  end)

  it("says why not", function()
    local r = run_there({ "pull", "other" })
    assert.are.same({ 1, "koine: pulling manifest\nkoine: pull model manifest: file does not exist\n" },
      { r.code, r.err })
    r = run_there({ "pull", "--timeout", "0.1", "m" }, { { path = "/api/pull", fault = { delay_ms = 2000 },
      reply = { body = '{"status":"success"}\n' } } })
    assert.are.same({ 1, "koine: not finished within 0.100 s (total)\n" }, { r.code, r.err })
    r = run_there({ "pull", "--retries", "0", "m" }, { lines(piece("aa", 10, 1)) })
    assert.are.equal(1, r.code)
    assert.is_truthy(r.err:find "^koine: pulling aa: 10%% of 10 B\nkoine: [^\n]+\n$", r.err)
    r = run_there({ "pull", "m" }, { { path = "/api/pull", error = { status = 400, message = "invalid model name" } } })
    assert.are.same({ 1, "koine: invalid model name\n" }, { r.code, r.err })
    r = run { "pull", "anthropic/claude-sonnet-4-5" }
    assert.are.same({ 2, "koine: Anthropic does not implement pull\n" }, { r.code, r.err })
    r = run { "pull", "ollama/" }
    assert.are.same({ 2, "koine: a model is required (ollama/MODEL)\n" }, { r.code, r.err })
    assert.are.equal(2, run({ "pull" }).code)
    r = run { "pull", "--retries", "0", "--base-url", "http://127.0.0.1:" .. cli.closed_port(), "m" }
    assert.are.equal(1, r.code)
    assert.is_truthy(r.err:find "^koine: Failed to connect")
  end)

  at_terminal("draws a bar, and takes it away at the end", function()
    assert(bench.server:script { lines('{"status":"pulling manifest"}', piece("aa", 1500, 375), piece("bb", 500, 500),
      piece("aa", 1500, 1500), SUCCESS) })
    local child = cli.start({ "pull", "--base-url", bench.server.url, "m" }, { terminal = true })
    local r = child:wait()
    assert.are.equal(0, r.code, r.out)
    for _, shown in ipairs { "pulling manifest", "pulling aa [######..................]  25% of 1.5 kB",
      "pulling bb [##########..............]  43% of 2.0 kB", "pulling aa [########################] 100% of 2.0 kB",
      "success" } do
      assert.is_truthy(r.out:find("\r\27[K\27[?7l" .. shown .. "\27[?7h\r\27[K", 1, true), r.out)
    end
    assert.are.equal("\r\27[Kkoine: ollama/m is there\r\n", r.out:sub(-30), r.out)
  end)

  at_terminal("ends by Ctrl-C on a line of its own", function()
    assert(bench.server:script { stalled(piece("aa", 1000, 100), piece("aa", 1000, 200)) })
    local child = cli.start({ "pull", "--base-url", bench.server.url, "m" }, { terminal = true })
    child:expect("out", " 20% of 1.0 kB")
    child:write "\3"
    local r = child:wait()
    assert.are.equal(130, r.code, r.out)
    assert.is_truthy(r.out:find "20%% of 1.0 kB\27%[%?7h[%^C]*\r?\n$", ("%q"):format(r.out))
    assert.is_nil(r.out:find("traceback", 1, true))
  end)

  it("ends by Ctrl-C without a word where there is no terminal", function()
    assert(bench.server:script { stalled(piece("aa", 1000, 100)) })
    local child = cli.start { "pull", "--base-url", bench.server.url, "m" }
    child:expect("err", "10% of 1.0 kB")
    child:signal "sigint"
    local r = child:wait()
    assert.are.same({ 130, "koine: pulling aa: 10% of 1.0 kB\n" }, { r.code, r.err })
  end)

  it("explains itself, with an example", function()
    local r = run { "pull", "--help" }
    assert.are.same({ 0, "" }, { r.code, r.err })
    assert.is_truthy(r.out:find("Usage: koine pull", 1, true))
    assert.is_truthy(r.out:find("koine pull qwen3:4b", 1, true), r.out)
  end)
end)
