-- Lists and their pages, what is kept of them, resources, prompts and completion, and what a server asks before it
-- answers.

local core = require "koine.core"
local kit = require "spec.lua.protocol.mcp.kit"

local client

local function connect(script, opts)
  client = assert(kit.connect(script, opts))
  return client
end

local function close()
  if client then client:close() end
  client = nil
end

local function names_of(list)
  local names = {}
  for i, entry in ipairs(list) do names[i] = entry.name end
  return table.concat(names, " ")
end

describe("a list", function()
  after_each(close)

  it("is read to its end, whatever its cursors look like", function()
    connect [[
      local after = { [""] = { { "c" }, "x" }, x = { { "d" } } }
      on["prompts/list"] = function(params)
        local page = params.cursor == nil and { { "a", "b" }, "" } or after[params.cursor]
        local prompts = array {}
        for i, name in ipairs(page[1]) do prompts[i] = { name = name } end
        return { prompts = prompts, nextCursor = page[2] }
      end
      on["resources/list"] = function() return { resources = array {}, nextCursor = null } end
    ]]
    assert.equal("a b c d", names_of(assert(client:prompts())))
    assert.same({}, { table.unpack(assert(client:resources())) })
    local cursors = {}
    for i, message in ipairs(kit.heard_of(client, "prompts/list")) do cursors[i] = message.params.cursor or "none" end
    assert.same({ "none", "", "x" }, cursors)
  end)

  it("whose cursors repeat, or do not end, is an error", function()
    connect [[
      on["prompts/list"] = function() return { prompts = array {}, nextCursor = "same" } end
      local n = 0
      on["resources/list"] = function()
        n = n + 1
        return { resources = array {}, nextCursor = tostring(n) }
      end
    ]]
    assert.equal("protocol", select(2, client:prompts()).kind)
    local _, err = client:resources()
    assert.same({ "limit", "pages" }, { err.kind, err.code })
    assert.equal(1000, #kit.heard_of(client, "resources/list"))
  end)

  it("has one time limit for all its pages", function()
    connect([[
      local n = 0
      on["prompts/list"] = function()
        n = n + 1
        if n == 1 then return { prompts = array {}, nextCursor = "next" } end
        sleep(0.05)
        return { prompts = array {}, nextCursor = tostring(n) }
      end
    ]], { timeout = { total = 0.3 } })
    local _, err = client:prompts()
    assert.same({ "timeout", "total" }, { err.kind, err.code })
  end)

  it("whose cursors are larger than any list is an error", function()
    connect [[
      local n, long = 0, ("x"):rep(4 << 20)
      on["prompts/list"] = function()
        n = n + 1
        if n > 20 then return { prompts = array {} } end
        return { prompts = array {}, nextCursor = n .. long }
      end
    ]]
    local _, err = client:prompts()
    assert.same({ "limit", "bytes" }, { err.kind, err.code })
  end)

  it("that is none is an error", function()
    connect [[
      on["prompts/list"] = function() return { prompts = { a = 1 } } end
      on["resources/list"] = function() return { resources = array { 1 } } end
    ]]
    assert.equal("protocol", select(2, client:prompts()).kind)
    assert.equal("protocol", select(2, client:resources()).kind)
    assert.equal("not_found", select(2, client:resource_templates()).kind)
  end)

  it("is kept for as long as the server lets us, in tables of the caller's own", function()
    connect [[
      local n = 0
      local function list(ttl)
        return function()
          n = n + 1
          return { prompts = array { { name = "p" .. n } }, resources = array { { name = "r" .. n } },
            resourceTemplates = array { { name = "t" .. n } }, ttlMs = ttl }
        end
      end
      on["prompts/list"], on["resources/list"], on["resources/templates/list"] = list(60000), list(-1), list(nil)
    ]]
    local first = assert(client:prompts())
    assert.equal("p1", first[1].name)
    first[1].name = "changed"
    assert.equal("p1", client:prompts()[1].name)
    assert.equal("r2 r3", client:resources()[1].name .. " " .. client:resources()[1].name)
    assert.equal("t4 t5", client:resource_templates()[1].name .. " " .. client:resource_templates()[1].name)
  end)

  it("is kept in a session until it changes, where the server tells that", function()
    connect([[
      capabilities = { prompts = { listChanged = true }, resources = {} }
      local n = 0
      local function list(key) return function()
        n = n + 1
        return { [key] = array { { name = key .. n } } }
      end end
      on["prompts/list"], on["resources/list"] = list "prompts", list "resources"
      function tools.change() notify "notifications/prompts/list_changed" return text "" end
    ]], { era = "legacy" })
    assert.equal("prompts1 prompts1", client:prompts()[1].name .. " " .. client:prompts()[1].name)
    assert.equal("resources2 resources3", client:resources()[1].name .. " " .. client:resources()[1].name)
    assert(client:call "change")
    assert.equal("prompts4", client:prompts()[1].name)
    client:call "die"
    assert(client:call "echo")
    assert.equal("prompts1", client:prompts()[1].name)
  end)
end)

describe("a server", function()
  after_each(close)

  it("gives resources, and says which it does not have", function()
    for _, case in ipairs { { "modern", -32602 }, { "legacy", -32602 }, { "legacy", -32002 } } do
      connect(([[
        on["resources/read"] = function(params)
          if params.uri ~= "a:b" then return nil, %d, "no such resource" end
          local first = { uri = "a:b", mimeType = "text/plain", text = "hi" }
          return { contents = array { first, { uri = "a:b", blob = "aGk=" } } }
        end
      ]]):format(case[2]), { era = case[1] })
      local contents = assert(client:read "a:b")
      assert.same({ "hi", "aGk=" }, { contents[1].text, contents[2].blob })
      local _, err = client:read "a:c"
      assert.same({ "not_found", tostring(case[2]) }, { err.kind, err.code })
      close()
    end
  end)

  it("gives resources that are kept, but not after a question", function()
    connect([[
      local n = 0
      on["resources/read"] = function(params)
        n = n + 1
        if params.uri == "asks" and not params.inputResponses then
          return { resultType = "input_required", inputRequests = { r = { method = "roots/list" } } }
        end
        return { contents = array { { uri = "a", text = tostring(n) } }, ttlMs = 60000, cacheScope = "public" }
      end
    ]], { roots = { { uri = "file:///x" } } })
    local function read(uri) return assert(client:read(uri))[1].text end
    assert.same({ "1", "1", "3", "5" }, { read "kept", read "kept", read "asks", read "asks" })
  end)

  it("gives prompts and completes their arguments", function()
    connect [[
      on["prompts/get"] = function(params)
        return { description = "d", messages = array { { role = "user", content = { type = "text",
          text = params.name .. core.encode(params.arguments) } } } }
      end
      on["completion/complete"] = function(params)
        local values = array {}
        for i = 1, 120 do values[i] = "v" .. i end
        return { completion = { values = values, total = 500, hasMore = true }, heard = params }
      end
    ]]
    local messages, description = client:prompt("greet", { who = "Ada" })
    assert.same({ 'greet{"who":"Ada"}', "d" }, { messages[1].content[1].text, description })
    local found = assert(client:complete({ prompt = "greet" }, { name = "who", value = "A" }, { language = "en" }))
    assert.same({ 100, 500, true }, { #found.values, found.total, found.has_more })
    assert(client:complete({ resource = "a:{b}" }, { name = "b" }))
    local heard = kit.heard_of(client, "completion/complete")
    for _, message in ipairs(heard) do message.params._meta = nil end
    assert.same({ ref = { type = "ref/prompt", name = "greet" }, argument = { name = "who", value = "A" },
      context = { arguments = { language = "en" } } }, heard[1].params)
    assert.same({ ref = { type = "ref/resource", uri = "a:{b}" }, argument = { name = "b", value = "" } },
      heard[2].params)
    kit.raises("ref", client.complete, client, {}, { name = "b" })
    kit.raises("arguments.n", client.prompt, client, "greet", { n = 1 })
    kit.raises("uri", client.read, client, "")
  end)
end)

describe("a question before the result", function()
  after_each(close)

  local ASKS = [[
    function tools.ask(arguments, request)
      local params = request.params
      if params.inputResponses then
        return text(core.encode { answers = params.inputResponses, state = params.requestState,
          arguments = params.arguments })
      end
      local state = arguments.state
      if state == "none" then state = null end
      return { resultType = "input_required", requestState = state, inputRequests = {
        who = { method = "elicitation/create", params = { message = "Who?", requestedSchema = { type = "object",
          properties = { name = { type = "string" } } } } },
        where = { method = "roots/list" } } }
    end
    function tools.again(arguments, request)
      local n = tonumber(request.params.requestState or 0) + 1
      if n > arguments.rounds then return text(tostring(n)) end
      return { resultType = "input_required", requestState = tostring(n) }
    end
    function tools.thrice(_, request)
      local params = request.params
      if params.requestState == "one" then return { resultType = "input_required" } end
      if n then
        return text(core.encode { state = params.requestState or false, answers = params.inputResponses or false })
      end
      n = 1
      return { resultType = "input_required", requestState = "one", inputRequests = { r = { method = "roots/list" } } }
    end
    on["tools/list"] = function() return { resultType = "input_required" } end
    on["prompts/list"] = on["tools/list"]
  ]]

  local function person(answer)
    return { on_elicit = function(request)
      assert.same({ "fake", "form", "Who?" }, { request.server, request.mode, request.message })
      return answer
    end, roots = { { uri = "file:///x", name = "x" } }, era = "modern" }
  end

  it("is answered in a new request, with the state as it came", function()
    connect(ASKS, person { action = "accept", content = { name = "Ada" } })
    for _, state in ipairs { " opaque \n", "" } do
      local said = core.decode(kit.text_of(assert(client:call("ask", { state = state }))))
      assert.same({ who = { action = "accept", content = { name = "Ada" } },
        where = { roots = core.array { { uri = "file:///x", name = "x" } } } }, said.answers)
      assert.same({ state, state }, { said.state, said.arguments.state })
    end
    local said = core.decode(kit.text_of(assert(client:call("ask", { n = 1 }))))
    assert.is_nil(said.state)
    local calls = kit.heard_of(client, "tools/call")
    for i = 2, #calls do assert.is_true(calls[i].id > calls[i - 1].id) end
    assert.is_nil(calls[6].params.requestState)
    said = core.decode(kit.text_of(assert(client:call("ask", { state = "none" })))) -- null
    assert.is_nil(said.state)
    assert.same({ elicitation = { form = {}, url = {} }, roots = {} },
      calls[1].params._meta["io.modelcontextprotocol/clientCapabilities"])
  end)

  it("leaves no state and no answers of an earlier round", function()
    connect(ASKS, person { action = "cancel" })
    assert.equal('{"answers":false,"state":false}', kit.text_of(assert(client:call "thrice")))
  end)

  it("is asked at most ten times a call", function()
    connect(ASKS)
    assert.equal("11", kit.text_of(assert(client:call("again", { rounds = 10 }))))
    local _, err = client:call("again", { rounds = 11 })
    assert.equal("limit", err.kind)
  end)

  it("fails the call where nobody answers, and elsewhere than in three methods", function()
    connect(ASKS)
    local _, err = client:call("ask", {})
    assert.same({ "protocol", "fake" }, { err.kind, err.server })
    assert.equal(1, #kit.heard_of(client, "tools/call") - 1)
    assert.equal("protocol", select(2, client:prompts()).kind)
  end)

  for name, loop in pairs(kit.loops) do
    it("does not leak into calls beside it in " .. name, function()
      connect(ASKS, person { action = "decline" })
      local functions = {}
      for i = 1, 5 do
        functions[i] = function()
          local said = core.decode(kit.text_of(assert(client:call("ask", { state = "s" .. i, n = i }))))
          assert.same({ "s" .. i, i, "decline" }, { said.state, said.arguments.n, said.answers.who.action })
        end
      end
      loop(table.unpack(functions))
      close()
    end)
  end

  for name, loop in pairs(kit.all) do
    it("is a request of the server in a session, and stops the clock of the call, in " .. name, function()
      loop(function()
        connect([[
          function tools.ask()
            local said = ask("elicitation/create", { message = "Who?", requestedSchema = { type = "object",
              properties = { name = { type = "string" } } } })
            local other = ask("sampling/createMessage", { messages = array {}, maxTokens = 1 })
            return text(core.encode { said.result, other.error.code })
          end
        ]], { era = "legacy", on_elicit = function()
          require("koine").sleep(0.15)
          return { action = "accept", content = { name = "Ada" } }
        end })
        local said = kit.text_of(assert(client:call("ask", {}, { idle = 0.1 })))
        assert.equal('[{"action":"accept","content":{"name":"Ada"}},-32601]', said)
        local _, err = client:call("ask", {}, { timeout = 0.05 })
        assert.equal("total", err.code)
        close()
      end)
    end)
  end
end)
