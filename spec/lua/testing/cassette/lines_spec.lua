-- Cassettes: lines of programs, one by one: one that repeats what it hears is recorded, lines in a file are played.

local core = require "koine.core"
local files = require "koine.data.files"
local kit = require "spec.lua.testing.cassette.kit"
local koine = require "koine"
local wait = require "koine.task.wait"

local CAT = { "cat" }

describe("lines of a program on a cassette", function()
  before_each(kit.begin)
  after_each(kit.restore)

  -- Records `cat`, which hears these lines and says them again: finish's results.
  local function record(options, ...)
    options.mode = "record"
    local tape = kit.open(options)
    local program <close> = assert(tape:program({ argv = CAT, secrets = {} }, function(on_stderr)
      return koine.process.open(CAT, { on_stderr = on_stderr })
    end))
    for _, line in ipairs { ... } do
      assert(program:write(line .. "\n"))
      assert.are.equal(line, program:line())
    end
    return tape:finish()
  end

  -- Plays a program of these lines: the live program, and the tape.
  local function play(list, options, on_stderr)
    local texts = {}
    for i, line in ipairs(list) do
      local ms, field, text = line[1], line[2], line[3]
      texts[i] = ('{"ms":%d,"%s":%s}'):format(ms, field, text)
    end
    assert(files.write(kit.path, ('{"format":"koine.cassette.v1","exchanges":[],"programs":[{"command":"cat",'
      .. '"lines":[%s]}]}'):format(table.concat(texts, ","))))
    options = options or {}
    options.mode = "replay"
    local tape = kit.open(options)
    return assert(tape:program({ argv = CAT, secrets = {}, on_stderr = on_stderr }, error)), tape
  end

  it("have no secret that one of them says in a field", function()
    assert(record({}, '{"access_token":"abcd-efgh-1234"}', "it is abcd-efgh-1234", "plain"))
    assert.is_nil(kit.text():find("abcd-efgh-1234", 1, true))
    assert.is_truthy(kit.text():find("it is [redacted]", 1, true))
    assert.is_truthy(kit.text():find('"plain"', 1, true))
  end)

  it("have no secret that is told while the program runs", function()
    local tape = kit.open { mode = "record" }
    local program <close> = assert(tape:program({ argv = CAT, secrets = { "first-secret-1" } }, function()
      return koine.process.open(CAT)
    end))
    program:hide "later-secret-2"
    for _, line in ipairs { "first-secret-1", "later-secret-2" } do
      assert(program:write(line .. "\n"))
      assert.are.equal(line, program:line())
    end
    assert(tape:finish())
    assert.are.equal(4, select(2, kit.text():gsub("%[redacted%]", "")))
    assert.is_nil(kit.text():find("-secret-", 1, true))
  end)

  it("are what the caller makes of them", function()
    local function redact(program)
      for _, line in ipairs(program.lines) do
        for _, field in ipairs { "sent", "came" } do
          if line[field] then line[field] = { method = "hidden" } end
        end
      end
    end
    assert(record({ redact = redact }, '{"method":"a"}'))
    assert.are.same({ "hidden", "hidden" }, { kit.read().programs[1].lines[1].sent.method,
      kit.read().programs[1].lines[2].came.method })
    local tape = kit.open { mode = "replay", redact = redact }
    local program <close> = assert(tape:program({ argv = CAT, secrets = {} }, error))
    assert(program:write '{"method":"b"}\n')
    assert(tape:finish())
  end)

  it("are looked through for credentials in pieces, standard error too", function()
    play { { 1, "logged", '"sk-ant-0123"' }, { 2, "logged", '"456789abcdefghij"' } }
    local ok, err = koine.testing.cassette.check(kit.path)
    assert.is_nil(ok)
    assert.is_truthy(err.message:find("programs[1].lines (the joined text of logged)", 1, true), err.message)
  end)

  it("are played once each, equal ones in turn", function()
    local program <close>, tape = play { { 1, "sent", '{"id":1,"method":"m"}' }, { 2, "came", '{"id":1,"result":"a"}' },
      { 3, "sent", '{"id":2,"method":"m"}' }, { 4, "came", '{"id":2,"result":"b"}' } }
    assert(program:write '{"id":11,"method":"m"}\n')
    assert.are.same({ id = 11, result = "a" }, core.decode(program:line()))
    assert(program:write '{"id":"x","method":"m"}\n')
    assert.are.same({ id = "x", result = "b" }, core.decode(program:line()))
    local ok, err = program:write '{"id":3,"method":"m"}\n'
    assert.is_nil(ok)
    assert.is_truthy(err.message:find("no recording of m in programs[1] is left: all lines were played", 1, true))
    assert.are.equal(err, select(2, program:line()))
    assert.are.equal(err, select(2, tape:finish()))
  end)

  it("get the progress tokens of now, and name the requests of now", function()
    local program <close>, tape = play {
      { 1, "sent", '{"id":1,"method":"m","params":{"_meta":{"progressToken":1}}}' },
      { 2, "came", '{"method":"notifications/progress","params":{"progressToken":1,"progress":5}}' },
      { 3, "sent", '{"method":"notifications/cancelled","params":{"requestId":1}}' },
      { 4, "came", '{"id":"server-1","method":"ping"}' }, { 5, "sent", '{"id":"server-1","result":{}}' } }
    assert(program:write '{"id":9,"method":"m","params":{"_meta":{"progressToken":"t"}}}\n')
    assert.are.equal("t", core.decode(program:line()).params.progressToken)
    assert(program:write '{"method":"notifications/cancelled","params":{"requestId":9}}\n')
    assert.are.equal("server-1", core.decode(program:line()).id)
    assert(program:write '{"id":"server-1","result":{}}\n')
    assert(tape:finish())
  end)

  it("wait for ours, which an error names", function()
    local program <close> = play { { 1, "sent", '{"id":1,"method":"first"}' },
      { 2, "sent", '{"id":2,"method":"second"}' }, { 3, "came", '{"id":1,"result":1}' } }
    assert(program:write '{"id":1,"method":"first"}\n')
    local _, err = program:write '{"id":5,"method":"third"}\n'
    assert.is_truthy(err.message:find('where method is "second" and not "third"; the next to say is lines[2] second', 1,
      true), err.message)
  end)

  it("come at the speed that is asked for", function()
    local program <close> = play({ { 40, "came", '"slow"' } }, { speed = 1 })
    local began = wait.now()
    assert.are.equal("slow", program:line())
    assert.is_true(wait.now() - began >= 0.0395)
  end)

  it("of standard error are told, and at the end those that are left, up to the next of ours", function()
    local told = {}
    local program <close> = play({ { 1, "logged", '"one"' }, { 2, "came", '"hello"' }, { 3, "came", '"unread"' },
      { 4, "logged", '"two"' }, { 5, "sent", '"never"' }, { 6, "logged", '"three"' } }, nil,
      function(line) told[#told + 1] = line end)
    assert.are.equal("hello", program:line())
    assert.are.same({ "one" }, told)
    program:close()
    assert.are.same({ "one", "two" }, told)
    assert.are.equal("one\ntwo\n", program:result().stderr)
    assert.are.equal("cancelled", select(2, program:line()).kind)
    assert.are.equal("cancelled", select(2, program:write "x\n").kind)
  end)
end)
