-- What `koine ask` takes and writes beside texts: blocks of code, values of options, usage, attachments; run as a
-- program against the loopback provider.

local cjson = require "cjson"
local code_block = require "koine.cli.talk.code_block"
local kit = require "spec.lua.cli.kit"

local AH = { { content = "Ah." } }

describe("koine", function()
  local bench = kit.new()
  local run, run_there = bench.run, bench.run_there

  local function sent()
    local requests = assert(bench.server:requests())
    return cjson.decode(requests[#requests].body), requests[#requests]
  end

  local function refuses(line, r)
    assert.are.same({ code = 2, signal = 0, out = "", err = "koine: " .. line .. "\n" }, r)
    assert.are.equal(0, #assert(bench.server:requests()))
  end

  describe("ask -x", function()
    it("writes the first block of code only", function()
      local r = run_there({ "ask", "-x", "Hm?" }, { { content = "So:\n\n```sh\nls *.c\n  wc\n```\nor\n```\nno\n```" } })
      assert.are.same({ code = 0, signal = 0, out = "ls *.c\n  wc\n", err = "" }, r)
    end)

    it("fails where there is none, or one without an end, and shows the answer on the other output", function()
      local r = run_there({ "ask", "-x", "Hm?" }, { { content = "Do not." } })
      assert.are.same({ 1, "", "Do not.\nkoine: --extract: the answer has no block of code\n" },
        { r.code, r.out, r.err })
      r = run_there({ "ask", "--extract", "Hm?" }, { { content = "```\nrm -r /tmp/x", stop_reason = "max_tokens" } })
      assert.are.same({ 1, "" }, { r.code, r.out })
      assert.are.equal("```\nrm -r /tmp/x\nkoine: --extract: the block of code has no end\n"
        .. "koine: the answer was cut at its maximum (max_tokens): raise --max-tokens\n", r.err)
      r = run_there({ "ask", "-x", "Hm?" }, { { content = "No.", stop_reason = "refusal" } })
      assert.are.same({ 4, "" }, { r.code, r.out })
    end)

    it("cannot be combined with other shapes", function()
      refuses("--extract and --schema: only one of them", run { "ask", "-x", "--schema", "a", "Hm?" })
      refuses("--extract and --json: only one of them", run { "ask", "-x", "--json", "Hm?" })
      refuses("--extract and --stream: only one of them", run { "ask", "-x", "--stream", "Hm?" })
    end)

    it("finds blocks as Markdown has them", function()
      assert.are.equal("a\n", code_block "```\na\n```")
      assert.are.equal("a\n\nb\n", code_block "x\r\n```c\r\na\r\n\r\nb\r\n```\r\n")
      assert.are.equal("```\n", code_block "~~~~\n```\n~~~~ \nb")
      assert.are.equal("```\na\n", code_block "````md\n```\na\n`````")
      assert.are.equal("a\n  b\nc\n", code_block "1. x\n   ```\n   a\n     b\n c\n   ```")
      assert.are.equal("", code_block "```\n```")
      assert.are.equal("b\n", code_block "```a```\n```\nb\n```")
      assert.are.same({ nil, "cut" }, { code_block "```\na\n~~~\n``` no" })
      assert.is_nil(code_block "no `code` here")
    end)
  end)

  describe("ask -o", function()
    it("reads a value as its option wants it", function()
      assert.are.equal("Ah.\n", run_there({ "ask", "-o", "stop_sequences=x", "-o", "key=1234567890", "-o", "top_p=0.5",
        "Hm?" }, AH).out)
      local body, request = sent()
      assert.are.same({ { "x" }, 0.5, "1234567890" }, { body.stop_sequences, body.top_p, request.headers["x-api-key"] })
      assert.are.equal("Ah.\n", run_there({ "ask", "-o", 'stop_sequences=["a","1"]', "-o",
        'extra={"metadata":{"user_id":"u1"}}', "Hm?" }, AH).out)
      assert.are.same({ { "a", "1" }, "u1" }, { sent().stop_sequences, sent().metadata.user_id })
    end)

    it("names what it cannot be, and the nearest name", function()
      refuses('top_p: number from 0 to 1 expected, got "much"', run { "ask", "-o", "top_p=much", "Hm?" })
      refuses('tempratur: unknown option; did you mean "temperature"?', run { "ask", "-o", "tempratur=1", "Hm?" })
    end)
  end)

  it("-u says what an answer took, in a pipe too", function()
    local r = run_there({ "ask", "-u", "Hm?" },
      { { content = "Ah.", usage = { input_tokens = 7, output_tokens = 3 } } })
    assert.are.equal("Ah.\n", r.out)
    assert.is_truthy(r.err:find "^koine: 7 tokens in, 3 out, %$0%.000066, %d+%.%d s\n$", r.err)
  end)

  it("-a attaches the standard input, and addresses", function()
    local r = run_there({ "ask", "-a", "-", "-a", "https://example.org/a.png", "-a", "https://example.org/b.pdf",
      "Hm?" }, AH, { input = "\x89PNG\r\n\x1A\n\0" })
    assert.are.equal("Ah.\n", r.out, r.err)
    local blocks = sent().messages[1].content
    assert.are.same({ "image/png", "https://example.org/a.png", "document", "Hm?", 4 },
      { blocks[1].source.media_type, blocks[2].source.url, blocks[3].type, blocks[4].text, #blocks })
  end)
end)
