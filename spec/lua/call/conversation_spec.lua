local cjson = require "cjson"
local koine = require "koine"
local conversation = require "koine.call.conversation"
local playbook = require "koine.testing.playbook"
local raised = require "spec.support.raised"

local function add(id) return { type = "tool_use", id = id, name = "add", arguments = { a = 2, b = 3 } } end

-- A playbook of answers.
local function play(...)
  local steps = {}
  for i, answer in ipairs { ... } do
    answer.step, answer.type = i, "answer"
    steps[i] = answer
  end
  return playbook(steps)
end

local function roles(history)
  local list = {}
  for i, message in ipairs(history) do list[i] = message.role end
  return table.concat(list, " ")
end

describe("ask", function()
  it("keeps both sides of an exchange and sends them with the next", function()
    local book = play({ content = "Hello." }, { content = "Fine." })
    local talk = conversation(book, { system = "Be brief.", max_tokens = 9 })
    assert.are.equal("Hello.", talk:ask "Hi":text())
    assert.are.equal("Fine.", talk:ask { { type = "text", text = "How are you?" } }:text())
    assert.are.equal("user assistant user assistant", roles(talk.history))
    local sent = book.call_log[2]
    assert.are.equal("Hi", sent.messages[1].content)
    assert.are.equal("Hello.", sent.messages[2].content[1].text)
    assert.are.equal("How are you?", sent.messages[3].content[1].text)
    assert.are.equal("Be brief.", sent.system)
    assert.are.equal(9, sent.max_tokens)
  end)

  it("leaves the shape out of one call with output = false", function()
    local book = play({ content = '{"name":"Seine"}' }, { content = "A river." }, { content = '{"name":"Rhone"}' })
    local talk = conversation(book, { output = { schema = "name" } })
    assert.are.equal("Seine", talk:ask("A river?").output.name)
    local plain = assert(talk:ask("What is that?", { output = false }))
    assert.are.equal("A river.", plain:text())
    assert.is_nil(plain.output_error)
    assert.are.equal("Rhone", talk:ask("Another?").output.name)
  end)

  it("streams to on_delta", function()
    local book = play({ content = "Hello." })
    local text = {}
    local response = conversation(book):ask("Hi", function(delta) text[#text + 1] = delta.text end)
    assert.are.equal("Hello.", table.concat(text))
    assert.are.equal("Hello.", response:text())
    assert.is_true(book.call_log[1].stream)
  end)

  it("leaves the history as it was when it fails", function()
    local talk = conversation(play({ content = "a" }, { error = { status = 500 } }, { content = "b" }))
    talk:ask "1"
    local response, err = talk:ask "2"
    assert.is_nil(response)
    assert.are.equal("ServerError", err.class)
    assert.are.equal("user assistant", roles(talk.history))
    assert.are.equal("b", talk:ask "2":text())
    assert.are.equal("user assistant user assistant", roles(talk.history))
  end)

  it("leaves the history as it was when it is broken off", function()
    local talk = conversation(play({ content = "abc", chunk = 1 }, { content = "d" },
      { content = "xyz", chunk = 1, stream_error = { type = "overloaded_error", after = 2 } }))
    assert.are.equal("enough", raised(talk.ask, talk, "1", function() error("enough", 0) end))
    assert.are.same({}, talk.history)
    assert.are.equal("d", talk:ask "2":text())
    local _, err = talk:ask("3", function() end)
    assert.are.equal("xy", err.partial:text())
    assert.are.equal("user assistant", roles(talk.history))
  end)

  it("raises for bad content and bad options, and stays usable", function()
    local talk = conversation(play({ content = "a" }), { max_token = 1 })
    assert.are.equal("ArgumentError", raised(talk.ask, talk, "1").class)
    talk.opts = {}
    assert.are.equal("ask", raised(talk.ask, talk, 5).field)
    assert.are.equal("ArgumentError", raised(talk.ask, talk, { { type = "text" } }).class)
    assert.are.same({}, talk.history)
    assert.are.equal("a", talk:ask "1":text())
  end)

  it("takes nothing that says nothing, or the model would go on where it stopped", function()
    local book = play({ content = "a" }, { content = "b" })
    local talk = conversation(book)
    talk:ask "1"
    for _, nothing in ipairs { "", " \n\t", {} } do
      local err = raised(talk.ask, talk, nothing)
      assert.are.same({ "ask", "non-empty text or blocks" }, { err.field, err.expected })
    end
    assert.are.equal(2, #talk.history)
    assert.are.equal("b", talk:ask { { type = "text", text = "2" } }:text())
  end)

  it("needs an adapter", function()
    for _, adapter in ipairs { {}, 5, "anthropic", { chat = "chat" } } do
      assert.are.equal("adapter", raised(conversation, adapter).field)
    end
  end)

  it("does not keep the caller's tables", function()
    local talk = conversation(play({ content = "a" }))
    local blocks = { { type = "text", text = "mine" } }
    talk:ask(blocks)
    blocks[1].text = "changed"
    assert.are.equal("mine", talk.history[1].content[1].text)
  end)

  it("is one exchange at a time", function()
    local talk = conversation(play({ content = "abc", chunk = 1 }, { content = "d" }))
    local err
    talk:ask("1", function() err = err or raised(talk.ask, talk, "2") end)
    assert.are.equal("ArgumentError", err.class)
    assert.are.equal("conversation", err.field)
    assert.are.equal("d", talk:ask "2":text())
  end)
end)

describe("results", function()
  local function asked()
    local book = play({ content = { { type = "text", text = "Let me see." }, add "a", add "b" } },
      { content = "5 and 5" },
      { content = "again" })
    local talk = conversation(book)
    assert.are.equal(2, #talk:ask "2 + 3, twice".tool_calls)
    return talk, book
  end

  it("answer the calls in the calls' order", function()
    local talk, book = asked()
    local response = talk:results { { tool_use_id = "b", content = "five", is_error = true },
      { tool_use_id = "a", content = { { type = "text", text = "5" } } } }
    assert.are.equal("5 and 5", response:text())
    local sent = book.call_log[2].messages[3]
    assert.are.equal("user", sent.role)
    assert.are.same({ type = "tool_result", tool_use_id = "a", content = { { type = "text", text = "5" } } },
      sent.content[1])
    assert.are.same({ type = "tool_result", tool_use_id = "b", content = "five", is_error = true }, sent.content[2])
    assert.are.equal("tool_use", book.call_log[2].messages[2].content[2].type)
    assert.are.equal("user assistant user assistant", roles(talk.history))
  end)

  it("must be there for each call, once, and for no other", function()
    local talk = asked()
    assert.are.equal("results", raised(talk.results, talk, { { tool_use_id = "a", content = "5" } }).field)
    local twice = { { tool_use_id = "a", content = "5" }, { tool_use_id = "a", content = "5" } }
    local err = raised(talk.results, talk, twice)
    assert.are.equal("results[2].tool_use_id", err.field)
    err = raised(talk.results, talk, { { tool_use_id = "c", content = "5" } })
    assert.are.equal("results[1].tool_use_id", err.field)
    assert.are.equal("results[1]", raised(talk.results, talk, { "5" }).field)
    assert.are.equal("results", raised(talk.results, talk, "5").field)
    assert.are.equal("user assistant", roles(talk.history))
  end)

  it("and blocks beside them are arrays without holes and without other keys", function()
    local talk = asked()
    local a, b = { tool_use_id = "a", content = "5" }, { tool_use_id = "b", content = "5" }
    for _, results in ipairs { { [1] = a, [3] = b }, { a, b, other = b }, a } do
      local err = raised(talk.results, talk, results)
      assert.are.equal("results", err.field)
      assert.are.equal("array of tool results", err.expected)
    end
    local text = { type = "text", text = "x" }
    for _, said in ipairs { { [1] = text, [3] = text }, { text, other = text }, text } do
      assert.are.equal("ask", raised(talk.ask, talk, said).field)
    end
    assert.are.equal("user assistant", roles(talk.history))
  end)

  it("are not wanted where no call waits", function()
    local talk = conversation(play({ content = "a" }))
    assert.are.equal("results", raised(talk.results, talk, {}).field)
    talk:ask "1"
    assert.are.equal("results", raised(talk.results, talk, { { tool_use_id = "a", content = "5" } }).field)
  end)

  it("that never came are reported when something else is said", function()
    local talk, book = asked()
    assert.are.equal("5 and 5", talk:ask "never mind":text())
    local content = book.call_log[2].messages[3].content
    assert.are.equal(3, #content)
    for i, id in ipairs { "a", "b" } do
      assert.are.equal(id, content[i].tool_use_id)
      assert.is_true(content[i].is_error)
    end
    assert.are.same({ type = "text", text = "never mind" }, content[3])
    assert.are.equal("again", talk:ask { { type = "text", text = "x" } }:text())
  end)
end)

describe("resume", function()
  it("joins the parts of a paused turn into one message", function()
    local book = play({ content = "first", stop_reason = "pause_turn" }, { content = "second" })
    local talk = conversation(book)
    assert.are.equal("pause_turn", talk:ask "go".stop_reason)
    assert.are.equal("second", talk:resume():text())
    assert.are.equal("user assistant", roles(book.call_log[2].messages))
    assert.are.equal("user assistant", roles(talk.history))
    assert.are.same({ { type = "text", text = "first" }, { type = "text", text = "second" } }, talk.history[2].content)
  end)

  it("needs an answer to go on with", function()
    local talk = conversation(play({ content = "a" }))
    assert.are.equal("resume", raised(talk.resume, talk).field)
  end)
end)

describe("fork, dump and load", function()
  it("fork goes its own way", function()
    local talk = conversation(play({ content = "a" }, { content = "b" }, { content = "c" }), { system = "s" })
    talk:ask "1"
    local other = talk:fork()
    other:ask "2"
    assert.are.equal(2, #talk.history)
    assert.are.equal(4, #other.history)
    other.history[1].content = "changed"
    assert.are.equal("1", talk.history[1].content)
    assert.are.equal("s", other.opts.system)
  end)

  it("dump is plain and load continues from it, tool calls and all", function()
    local talk = conversation(play({
      content = { { type = "thinking", thinking = "hm", signature = "s\0g" }, add "a" } }))
    talk:ask "2 + 3"
    local dumped = talk:dump()
    local book = play({ content = "5" })
    local again = conversation.load(book, dumped, { max_tokens = 3 })
    dumped.history[1].content = "changed"
    assert.are.equal("5", again:results { { tool_use_id = "a", content = "5" } }:text())
    local sent = book.call_log[1]
    assert.are.equal("2 + 3", sent.messages[1].content)
    assert.are.equal("s\0g", sent.messages[2].content[1].signature)
    assert.are.equal("a", sent.messages[2].content[2].id)
    assert.are.equal(3, sent.max_tokens)
    local function plain(value)
      assert.is_not_equal("userdata", type(value))
      assert.is_not_equal("function", type(value))
      if type(value) == "table" then for _, member in pairs(value) do plain(member) end end
    end
    plain(talk:dump())
  end)

  it("a dump survives a JSON library", function()
    local talk = conversation(play({ content = { add "a" } }))
    talk:ask "2 + 3"
    local book = play({ content = "5" })
    local json = cjson.new()
    local again = conversation.load(book, json.decode(json.encode(talk:dump())))
    assert.are.equal("5", again:results { { tool_use_id = "a", content = "5" } }:text())
    local call = book.call_log[1].messages[2].content[1]
    assert.are.equal('{"a":2,"b":3}', call.arguments_json)
    assert.are.equal(2, call.arguments.a)
  end)

  it("load rejects what is no dump", function()
    local book = play({ content = "5" })
    assert.are.equal("dump", raised(conversation.load, book, "x").field)
    assert.are.equal("dump.format", raised(conversation.load, book, {}).field)
    assert.are.equal("dump.version", raised(conversation.load, book, { format = "koine.conversation" }).field)
    local dumped = { format = "koine.conversation", version = 1 }
    assert.are.equal("dump.history", raised(conversation.load, book, dumped).field)
    dumped.history = { { role = "user", content = "a" }, { role = "user", content = { { type = "text" } } } }
    assert.are.equal("dump.history[2].content[1].text", raised(conversation.load, book, dumped).field)
    assert.are.equal("adapter", raised(conversation.load, nil, dumped).field)
    assert.are.equal("options", raised(conversation, book, "x").field)
  end)
end)

describe("over a wire", function()
  local server
  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  local ADAPTERS = {
    anthropic = function(url) return koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = url,
      retry = false } end,
    openai = function(url) return koine.openai { model = "gpt-4.1", api = "chat", key = "k", base_url = url,
      retry = false } end,
  }

  for name, new in pairs(ADAPTERS) do
    it("the history stays legal through failures, calls and interruptions: " .. name, function()
      assert(server:reset())
      assert(server:script {
        { content = "Hello." },
        { content = ("words "):rep(400), fault = { reset_after = 1500 } },
        { content = { { type = "text", text = "Adding." }, add "call_a", add "call_b" } },
        { content = "Both are 5." },
        { content = { add "call_c" } },
        { content = "As you like." },
        { content = "" },
        { content = "Still here." },
      })
      local talk = conversation(new(server.url), { tools = { { name = "add", description = "Adds.",
        parameters = { type = "object" } } } })
      assert(talk:ask "Hi")
      local _, err = talk:ask("Go on", function() end)
      assert.are.equal("ConnectionError", err.class)
      assert.are.equal("user assistant", roles(talk.history))
      assert(talk:ask "2 + 3, twice")
      assert(talk:results { { tool_use_id = "call_b", content = "5" }, { tool_use_id = "call_a", content = "5" } })
      assert(talk:ask "again")
      assert.are.equal("As you like.", assert(talk:ask "no, stop"):text())
      assert.are.same({}, assert(talk:ask "nothing to say?").content)
      assert.are.equal("Still here.", assert(talk:ask "and now?"):text())
      for _, request in ipairs(assert(server:requests())) do assert.are.same({}, request.problems) end
    end)
  end

  it("a paused answer goes on where it stopped", function()
    assert(server:reset())
    assert(server:script { { stop_reason = "pause_turn", content = { { type = "text", text = "Searching" },
      { type = "opaque", raw = { type = "server_tool_use", id = "srvtoolu_1", name = "web_search",
        input = { query = "lua" } } } } }, { content = "Found." } })
    local talk = conversation(ADAPTERS.anthropic(server.url))
    assert.are.equal("pause_turn", assert(talk:ask "Search").stop_reason)
    assert.are.equal("Found.", assert(talk:resume()):text())
    local requests = assert(server:requests())
    assert.are.same({}, requests[2].problems)
    assert.is_truthy(requests[2].body:find("srvtoolu_1", 1, true))
    assert.are.equal("user assistant", roles(talk.history))
  end)
end)

describe("slice", function()
  local function user(...) return { role = "user", content = { ... } } end
  local function assistant(...) return { role = "assistant", content = { ... } } end
  local function text(words) return { type = "text", text = words } end
  local function result(id) return { type = "tool_result", tool_use_id = id, content = "5" } end

  local history = { { role = "user", content = "Add." }, assistant(text "Well.", add "a"),
    user(result "a", text "Go on."), assistant(add "b"), user(result "b"), assistant(text "Five.") }

  it("keeps a part that stands by itself, with the same message tables", function()
    local part = conversation.slice(history)
    assert.are.same(history, part)
    for i, message in ipairs(part) do assert.are.equal(history[i], message) end
    assert.are.same({ history[2], history[3] }, conversation.slice(history, 2, 3))
    assert.are.same({}, conversation.slice({}))
  end)

  it("trims results at the beginning", function()
    assert.are.same({ user(text "Go on."), history[4], history[5] }, conversation.slice(history, 3, 5))
    assert.are.same({ history[6] }, conversation.slice(history, 5))
    assert.are.same({ history[1] }, conversation.slice { user(result "x"), user(result "y"), history[1] })
  end)

  it("trims calls at the end", function()
    assert.are.same({ history[1], assistant(text "Well.") }, conversation.slice(history, 1, 2))
    assert.are.same({ history[1], history[2], history[3] }, conversation.slice(history, 1, 4))
    assert.are.same({}, conversation.slice(history, 4, 4))
  end)

  it("leaves the messages it was given alone", function()
    conversation.slice(history, 3, 4)
    assert.are.equal(2, #history[3].content)
    assert.are.equal(1, #history[4].content)
  end)

  -- How long such a table is, Lua does not say: its versions differ.
  it("wants an array without holes, also in a dump", function()
    local late = { history[1] }
    late[3] = history[3]
    for _, holes in ipairs { { history[1], nil, history[3] }, late, { [2] = history[1] }, { history[1], x = 1 } } do
      assert.are.equal("messages", raised(conversation.slice, holes).field)
      assert.are.equal("messages", raised(conversation.slice, holes, 1, 3).field)
      local dump = { format = "koine.conversation", version = 1, history = holes }
      assert.are.equal("dump.history", raised(conversation.load, playbook { model = "m", steps = {} }, dump).field)
    end
  end)

  it("takes what there is of a range", function()
    assert.are.same({}, conversation.slice(history, 7))
    assert.are.same({}, conversation.slice(history, 3, 2))
    assert.are.same(history, conversation.slice(history, -3, math.maxinteger))
    assert.are.same({ history[1] }, conversation.slice(history, math.mininteger, 1.0))
    assert.are.equal("first", raised(conversation.slice, history, 1.5).field)
    assert.are.equal("last", raised(conversation.slice, history, 1, "x").field)
  end)

  it("wants messages", function()
    assert.are.equal("messages", raised(conversation.slice, "x").field)
    assert.are.equal("messages[1].role", raised(conversation.slice, { { role = "robot", content = "x" } }).field)
  end)
end)
