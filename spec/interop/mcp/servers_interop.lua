-- The reference servers of MCP, which speak its legacy era: everything over both transports, filesystem and memory with
-- real tools.

local core = require "koine.core"
local koine = require "koine"
local mcp = require "spec.interop.support.mcp"
local program = require "spec.interop.support.program"

local SAMPLED = { content = "Paris.", model = "judge-1", stop_reason = "end_turn" }

-- What a client of the server everything is given; `heard` gets what its callbacks are told.
local function handlers(heard)
  return {
    on_elicit = function(request)
      heard.elicited = request
      return { action = heard.action or "accept", content = heard.content }
    end,
    sampling = function(request)
      heard.sampled = request
      return SAMPLED
    end,
    roots = { { uri = "file:///home/judge", name = "home" } },
    on_log = function(line) heard[#heard + 1] = line end,
    on_change = function(kind) heard.changed = kind end,
  }
end

-- The tests of everything, the same over each transport. `open()` → a client, what it hears.
local function judge(open)
  local client, heard

  setup(function() client, heard = open() end)
  teardown(function() client:close() end)
  before_each(function() heard.action, heard.content = nil, nil end)

  local function call(name, arguments) return assert(client:call(name, arguments)) end

  it("is of the legacy era", function()
    assert.equal("legacy", client.era)
    assert.equal("2025-11-25", client.version)
    assert.equal("mcp-servers/everything", client.server.name)
    assert.matches("Everything", client.instructions)
    assert.is_table(client.capabilities.tools)
  end)

  it("has its tools called", function()
    assert.equal("Echo: grüß dich, 世界", mcp.text(call("echo", { message = "grüß dich, 世界" })))
    assert.equal("The sum of 1.5 and 2 is 3.5.", mcp.text(call("get-sum", { a = 1.5, b = 2 })))
    local weather = call("get-structured-content", { location = "Chicago" })
    assert.equal(36, weather.structured.temperature)
    assert.is_false(weather.is_error == true)
  end)

  it("gives content of all kinds", function()
    local image = call "get-tiny-image".content[2]
    assert.same({ "image", "image/png" }, { image.type, image.mimeType })
    assert.equal("\137PNG", core.base64_decode(image.data):sub(1, 4))
    assert.equal("resource_link", call("get-resource-links", { count = 1 }).content[2].type)
    assert.equal("resource", call("get-resource-reference", { resourceType = "Blob", resourceId = 1 }).content[2].type)
    assert.equal("error", call("get-annotated-message", { messageType = "error" }).content[1].text:match "^%a+":lower())
  end)

  it("says what is wrong inside a result, which is no error of the call", function()
    local result = call("echo", {})
    assert.is_true(result.is_error)
    assert.matches("Invalid arguments", mcp.text(result))
    assert.is_true(call("no-such-tool", {}).is_error)
  end)

  it("asks for input by a form", function()
    heard.content = { name = "Ada" }
    local raw = mcp.text(call "trigger-elicitation-request"):match "Raw result: (.*)$"
    assert.same({ "form", "judge" }, { heard.elicited.mode, heard.elicited.server })
    local answer = core.decode(raw)
    assert.equal("accept", answer.action)
    assert.same({ name = "Ada", firstLine = "It was a dark and stormy night.", integer = 42, number = 3.14,
      untitledSingleSelectEnum = "Monica", untitledMultipleSelectEnum = { "Guitar" }, titledSingleSelectEnum = "hero-1",
      titledMultipleSelectEnum = { "fish-1" }, legacyTitledEnum = "pet-1" }, answer.content)
    heard.action = "decline"
    assert.matches("declined", mcp.text(call "trigger-elicitation-request"))
  end)

  it("asks for input by a URL, and refuses until one is opened", function()
    local url = "https://login.example/"
    assert.matches("completed", mcp.text(call("trigger-url-elicitation", { url = url, message = "Log in." })))
    assert.same({ "url", url }, { heard.elicited.mode, heard.elicited.url })
    local result, err = client:call("trigger-url-elicitation", { url = url, message = "Log in.", errorPath = true })
    assert.is_nil(result)
    assert.equal("-32042", err.code)
    assert.same({ "https://modelcontextprotocol.io" }, err.urls)
  end)

  it("asks for a model", function()
    local said = mcp.text(call("trigger-sampling-request", { prompt = "Capital?", maxTokens = 30 }))
    assert.same({ role = "assistant", model = "judge-1", stopReason = "endTurn",
      content = { type = "text", text = "Paris." } }, core.decode(said:match "{.*}"))
    assert.same({ "You are a helpful test server.", 30, 0.7 },
      { heard.sampled.system, heard.sampled.max_tokens, heard.sampled.temperature })
  end)

  it("asks for the roots", function()
    assert.matches("file:///home/judge", mcp.text(call "get-roots-list"), 1, true)
  end)

  it("tells its progress, which keeps a call alive; the total ends it", function()
    local seen = {}
    assert(client:call("trigger-long-running-operation", { duration = 0.9, steps = 3 }, { idle = 0.7,
      on_progress = function(progress) seen[#seen + 1] = progress.progress .. "/" .. progress.total end }))
    assert.same({ "1/3", "2/3", "3/3" }, seen)
    local result, err = client:call("trigger-long-running-operation", { duration = 60, steps = 600 }, { timeout = 0.3 })
    assert.is_nil(result)
    assert.equal("timeout", err.kind)
    assert.equal("Echo: still here", mcp.text(call("echo", { message = "still here" })))
  end)

  it("has resources, prompts and completion", function()
    local listed = assert(client:resources())
    assert.matches("^demo://", listed[1].uri)
    assert.matches("architecture", assert(client:read(listed[1].uri))[1].text)
    assert.equal("Resource 3", assert(client:read "demo://resource/dynamic/text/3")[1].text:match "^%a+ %d+")
    assert.equal("demo://resource/dynamic/text/{resourceId}", assert(client:resource_templates())[1].uriTemplate)
    assert.is_nil((client:read "demo://nowhere"))
    assert.equal("simple-prompt", assert(client:prompts())[1].name)
    local messages = assert(client:prompt("args-prompt", { city = "Paris" }))
    assert.equal("user", messages[1].role)
    local done = assert(client:complete({ prompt = "completable-prompt" }, { name = "department", value = "E" }))
    assert.same({ "Engineering" }, { table.unpack(done.values) })
    done = assert(client:complete({ prompt = "completable-prompt" }, { name = "name", value = "" },
      { department = "Sales" }))
    assert.equal("David", done.values[1])
  end)

  it("gives tools that an agent calls", function()
    local tools = client:tools { only = { "echo", "get-sum", "get-tiny-image" } }
    assert.same({ "judge_echo", "judge_get-sum", "judge_get-tiny-image" },
      { tools[1].name, tools[2].name, tools[3].name })
    local book = koine.testing.playbook { steps = {
      { step = 1, type = "tool_calls", tool_calls = {
        { id = "c1", name = "judge_echo", arguments = { message = "one" } },
        { id = "c2", name = "judge_get-sum", arguments = { a = 1, b = 2 } },
        { id = "c3", name = "judge_get-tiny-image", arguments = {} } } },
      { step = 2, type = "message", content = "Done." } } }
    local run = assert(koine.agent { adapter = book, tools = tools }:run "Go.")
    assert.equal("Done.", run.text)
    local results = book.call_log[2].messages[3].content
    assert.matches("Echo: one", core.encode(results[1].content), 1, true)
    assert.matches("is 3", core.encode(results[2].content), 1, true)
    assert.matches('"media_type":"image/png"', core.encode(results[3].content), 1, true)
  end)

  it("answers many calls at once", function()
    koine.run(function()
      local tasks = {}
      for i = 1, 40 do
        tasks[i] = koine.spawn(function() return mcp.text(call("echo", { message = tostring(i) })) end)
      end
      for i, task in ipairs(tasks) do assert.equal("Echo: " .. i, (task:wait())) end
    end)
  end)
end

describe("server-everything over standard input and output", function()
  judge(function()
    local heard = {}
    return mcp.connect(mcp.reference("everything", "stdio"), handlers(heard)), heard
  end)
end)

describe("server-everything over HTTP", function()
  local server

  setup(function() server = mcp.everything_http() end)
  teardown(function() server:stop() end)

  judge(function()
    local heard = {}
    return mcp.connect({ url = server.answer }, handlers(heard)), heard
  end)
end)

describe("server-filesystem", function()
  local folder, client

  setup(function()
    folder = program.folder()
    program.write(folder .. "/a.txt", "first\nsecond\n")
    client = mcp.connect(mcp.reference("filesystem", folder))
  end)
  teardown(function()
    client:close()
    os.execute("rm -rf " .. program.quote(folder))
  end)

  it("reads, writes and edits files", function()
    assert.equal("first\nsecond\n", mcp.text(assert(client:call("read_text_file", { path = folder .. "/a.txt" }))))
    assert(client:call("write_file", { path = folder .. "/b.txt", content = "null \0 and 世界" }))
    assert.equal("null \0 and 世界", program.read(folder .. "/b.txt"))
    local edited = assert(client:call("edit_file", { path = folder .. "/a.txt",
      edits = { { oldText = "second", newText = "2nd" } } }))
    assert.is_false(edited.is_error == true)
    assert.equal("first\n2nd\n", program.read(folder .. "/a.txt"))
    local listed = assert(client:call("list_directory", { path = folder }))
    assert.matches("[FILE] a.txt", mcp.text(listed), 1, true)
    assert.is_string(listed.structured.content)
  end)

  it("refuses what is outside", function()
    local result = assert(client:call("read_text_file", { path = "/etc/passwd" }))
    assert.is_true(result.is_error)
    assert.matches("denied", mcp.text(result))
  end)

  it("has tools with the schemas of an older draft", function()
    local tools = client:tools { prefix = "files" }
    assert.equal(14, #tools)
    local by_name = {}
    for _, tool in ipairs(tools) do by_name[tool.name] = tool end
    assert.equal("http://json-schema.org/draft-07/schema#", by_name.files_edit_file.parameters["$schema"])
    assert.is_true(by_name.files_write_file.mcp.annotations.destructiveHint)
    assert.is_true(by_name.files_read_file.mcp.annotations.readOnlyHint)
  end)

  it("takes the roots for its directories", function()
    local other = program.folder()
    program.write(other .. "/c.txt", "root")
    local told
    local rooted <close> = mcp.connect(mcp.reference("filesystem", folder), { roots = { { uri = "file://" .. other } },
      on_log = function(line) told = told or line:find "MCP roots" end })
    local result
    for _ = 1, 100 do
      result = assert(rooted:call("list_allowed_directories", {}))
      if told and mcp.text(result):find(other, 1, true) then break end
    end
    assert.matches(other, mcp.text(result), 1, true)
    assert.equal("root", mcp.text(assert(rooted:call("read_text_file", { path = other .. "/c.txt" }))))
    os.execute("rm -rf " .. program.quote(other))
  end)
end)

describe("server-memory", function()
  it("keeps what it is told", function()
    local folder = program.folder()
    local server = mcp.reference "memory"
    server.env = { MEMORY_FILE_PATH = folder .. "/memory.json" }
    do
      local client <close> = mcp.connect(server)
      local made = assert(client:call("create_entities", { entities = {
        { name = "Ada", entityType = "person", observations = { "writes programs" } } } }))
      assert.equal("Ada", made.structured.entities[1].name)
    end
    local client <close> = mcp.connect(server)
    local found = assert(client:call("search_nodes", { query = "programs" }))
    assert.equal("Ada", found.structured.entities[1].name)
    assert.equal("application/json", assert(client:resources())[1].mimeType)
    os.execute("rm -rf " .. program.quote(folder))
  end)
end)
