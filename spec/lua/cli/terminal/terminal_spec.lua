-- What stands on a terminal: styles, and none where they are not wanted; nothing that a hostile answer would have it
-- do.

local cjson = require "cjson"
local cli = require "spec.support.cli"
local kit = require "spec.lua.cli.kit"

local at_terminal = cli.on_terminal(it, pending)

local HOSTILE = "a\27]0;title\7b\27[2Jc\u{9B}31md\r\8e\27P1$r\27\\f\u{85}g\u{202E}h\u{2066}i\127j\0k"
local HARMLESS = "a]0;titleb[2Jc31mdeP1$r\\fghijk"

describe("on a terminal koine", function()
  local bench = kit.new()

  local function shown(answer, env, ...)
    assert(bench.server:script { answer })
    local all = { ANTHROPIC_API_KEY = kit.KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5" }
    for name, value in pairs(env or {}) do all[name] = value end
    local r = cli.start({ "ask", "--base-url", bench.server.url, "Hm?", ... }, { env = all, terminal = true }):wait()
    assert.are.equal(0, r.code, r.out)
    return r.out
  end

  at_terminal("shows Markdown with styles", function()
    local out = shown { content = "# T\n\n**b** `c` 2 * 3 *", chunk = 3 }
    assert.is_truthy(out:find("\27[0;1m# T\27[0m\r\n\r\n\27[0;1m**b**\27[0m \27[0;2m`c`\27[0m 2 * 3 *\r\nkoine: ", 1,
      true), out)
  end)

  at_terminal("shows none with NO_COLOR, and no escape sequence at all on a dumb one", function()
    local out = shown({ content = "**b** `c`" }, { NO_COLOR = "1" })
    assert.is_truthy(out:find("\r\27[K**b** `c`\r\nkoine: ", 1, true), out)
    for _, term in ipairs { "dumb", "" } do
      out = shown({ content = "**b** `c`" }, { TERM = term })
      assert.is_truthy(out:find("^%*%*b%*%* `c`\r\nkoine: [^\27]*$"), out)
    end
  end)

  at_terminal("shows what a model thinks, dim, before what it says", function()
    local answer = { content = { { type = "thinking", thinking = "Hm, so." }, { type = "text", text = "Ah." } } }
    local out = shown(answer, nil, "--thinking", "high")
    assert.is_truthy(out:find("is thinking\27[?7h\r\27[K\27[2mHm", 1, true), out)
    assert.is_truthy(out:find(".\27[0m\r\nAh.\r\nkoine: ", 1, true), out)
    assert.is_nil(shown(answer, { NO_COLOR = "1" }, "--thinking", "high"):find "so%.")
  end)

  at_terminal("obeys nothing that an answer or a thought says", function()
    for _, env in ipairs { { NO_COLOR = "1" }, { TERM = "dumb" }, {} } do
      for _, stream in ipairs { "--stream", "--no-stream" } do
        local out = shown({ content = HOSTILE }, env, stream)
        assert.is_truthy(out:find(HARMLESS, 1, true), out)
        assert.is_nil(out:find "[\7\8\14-\26\28-\31\127]")
      end
    end
    -- Each byte of its own piece.
    local out = shown({ content = HOSTILE, chunk = 1 }, { NO_COLOR = "1" })
    assert.is_truthy(out:find(HARMLESS, 1, true))
    out = shown({ content = { { type = "thinking", thinking = "x\27[2Jy" }, { type = "text", text = "Ah." } } }, {},
      "--thinking", "high")
    assert.is_nil(out:find("\27[2J", 1, true))
    assert.is_truthy(out:gsub("\27%[[%d;]*m", ""):find("x[2Jy", 1, true))
  end)

  at_terminal("obeys nothing that comes with an error, a code or a value", function()
    assert(bench.server:script { { error = { status = 400, message = HOSTILE } } })
    local r = cli.start({ "ask", "--base-url", bench.server.url, "Hm?" }, { terminal = true, env = {
      ANTHROPIC_API_KEY = kit.KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5" } }):wait()
    assert.is_nil(r.out:gsub("\27%[K", ""):gsub("\27%[%?7[lh]", ""):find "[\7\8\27\127]")
    local out = shown({ content = "```\n" .. HOSTILE .. "\n```" }, {}, "-x")
    assert.is_truthy(out:find(HARMLESS, 1, true), out)
    assert.is_nil(out:find("\27[2J", 1, true))
  end)

  at_terminal("ends styles where an answer is broken off", function()
    assert(bench.server:script {
      { content = "**bold " .. ("x"):rep(2000), chunk = 10, fault = { stall_after = 900 } } })
    local child = cli.start({ "ask", "--base-url", bench.server.url, "Hm?" }, { terminal = true,
      env = { ANTHROPIC_API_KEY = kit.KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5" } })
    child:expect("out", "**bold")
    child:write "\3"
    local r = child:wait()
    assert.are.equal(130, r.code)
    assert.is_truthy(r.out:find "%^C\27%[0m\r\n", r.out)
  end)

  at_terminal("reads a question to its end with - as the only word", function()
    assert(bench.server:script { { content = "Yes." } })
    local child = cli.start({ "ask", "--base-url", bench.server.url, "-" }, { terminal = true,
      env = { ANTHROPIC_API_KEY = kit.KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5", HOME = bench.home } })
    child:write "Is it?\nReally?\n\4"
    assert.is_truthy(child:wait().out:find("Yes.", 1, true))
    local body = cjson.decode(assert(bench.server:requests())[1].body)
    assert.are.equal("Is it?\nReally?\n", body.messages[1].content[1].text)
  end)

  at_terminal("asks nobody without a word", function()
    local r = cli.start({}, { terminal = true }):wait()
    assert.are.same({ 2, 'koine: a question or a command is required: koine "Why?" (`koine --help` lists all)\r\n' },
      { r.code, r.out })
  end)

  it("writes answers as they are into a pipe", function()
    local r = bench.run_there({ "ask", "Hm?" }, { { content = "**b** " .. HOSTILE } })
    assert.are.same({ 0, "**b** " .. HOSTILE .. "\n", "" }, { r.code, r.out, r.err })
  end)
end)
