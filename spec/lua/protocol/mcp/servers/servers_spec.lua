-- Groups of servers: started at once, none waits for another, and what one does wrong is its own failure.

local core = require "koine.core"
local files = require "spec.support.files"
local folder = require "spec.support.folder"
local kit = require "spec.lua.protocol.mcp.kit"
local koine = require "koine"
local wait = require "koine.task.wait"

local GOOD = 'listed = { { name = "b" }, { name = "a" } } tools.a = function() return text "a was called" end'
local SILENT = "while io.read() do end"

-- The entry of a configuration for the fake server with this script.
local function entry(script, more)
  local options = kit.options(script)
  local made = { command = options.command, args = core.array(options.args), env = options.env }
  for key, value in pairs(more or {}) do made[key] = value end
  return made
end

describe("servers", function()
  local dir, path

  before_each(function()
    dir = folder.new()
    path = dir .. "/mcp.json"
  end)
  after_each(function() folder.remove(dir) end)

  local function hurry(_, options) if options.command then options.grace = 0.1 end end

  -- A group of these servers, {name = entry}.
  local function load(given, opts)
    files.write(path, core.encode { mcpServers = given })
    local all = { each = hurry, start_timeout = kit.SAFETY }
    for name, value in pairs(opts or {}) do all[name] = value end
    return assert(koine.mcp.load(path, all))
  end

  local function names(tools)
    local list = {}
    for i, one in ipairs(tools) do list[i] = one.name end
    return list
  end

  local function sorted(map)
    local list = {}
    for name in pairs(map) do list[#list + 1] = name end
    table.sort(list)
    return list
  end

  it("have warnings told, of the file at once and of tools later", function()
    local told = {}
    local function note(warning) told[#told + 1] = warning.code .. " " .. warning.field end
    local servers <close> = load({ one = entry([[listed = { { name = "b" }, { name = "b" } }]],
      { includeTool = core.array { "b" } }) }, { on_warning = note })
    assert.are.same({ "unknown_key one.includeTool" }, told)
    servers:start()
    assert.are.equal(1, #assert(servers:tools()))
    assert.are.same({ "unknown_key one.includeTool", "tool_left_out b" }, told)
    local own = {}
    local others <close> = load({ one = entry([[listed = { { name = "b" }, { name = "b" } }]]) }, { on_warning = note,
      each = function(_, options)
        hurry(_, options)
        options.on_warning = function(warning) own[#own + 1] = warning.code end
      end })
    others:start()
    assert(others:tools())
    assert.are.same({ { "tool_left_out" }, 2 }, { own, #told })
  end)

  for loop, run in pairs(kit.all) do
    it("start, list and call in " .. loop, function()
      run(function()
        local servers <close> = load { two = entry(GOOD), one = entry(GOOD), dead = entry "os.exit(3)",
          off = entry(GOOD, { disabled = true }), bad = { command = "x", args = { "${KOINE_NO_SUCH}" } } }
        assert.are.same({ "bad" }, sorted(servers.failed))
        assert.is_true(servers:start())
        assert.are.same({ "one", "two" }, sorted(servers.clients))
        assert.are.same({ "bad", "dead" }, sorted(servers.failed))
        assert.are.equal("connect", servers.failed.dead.kind)
        local tools = assert(servers:tools())
        assert.are.same({ "one_b", "one_a", "two_b", "two_a" }, names(tools))
        local result = assert(koine.tool.answer(tools, { id = "c", name = "two_a", arguments = {} }))
        assert.are.equal("a was called", result.content[1].text)
        assert.are.equal("fake", servers:client("one").server.name)
        assert.are.equal("koine.mcp.servers (" .. path .. ", 2 of 4 running)", tostring(servers))
      end)
    end)
  end

  it("are 20: start ends at start_timeout, and who is late joins", function()
    local given = { silent = entry(SILENT), dead = entry "os.exit(3)",
      late = entry(("await %q\n"):format(dir .. "/go") .. GOOD) }
    for i = 1, 17 do given[("s%02d"):format(i)] = entry(GOOD) end
    local servers <close> = load(given, { start_timeout = 0.5 })
    local begun = wait.now()
    repeat assert(servers:start()) until #sorted(servers.clients) == 17 or wait.now() - begun > kit.SAFETY
    assert.are.equal(17, #sorted(servers.clients))
    assert.are.same({ "dead", "late", "silent" }, sorted(servers.failed))
    assert.are.equal("start", servers.failed.silent.code)
    assert.are.equal("start", servers.failed.late.code)
    assert.are.equal(34, #assert(servers:tools()))
    files.write(dir .. "/go", "")
    repeat assert(servers:start()) until servers.clients.late or wait.now() - begun > kit.SAFETY
    assert.are.same({ "dead", "silent" }, sorted(servers.failed))
    assert.are.equal("late_b", assert(servers:tools())[1].name)
  end)

  it("join when the group is asked again, without another start", function()
    local servers <close> = load({ late = entry(("await %q\n"):format(dir .. "/go") .. GOOD) },
      { start_timeout = 0.05 })
    assert(servers:start())
    assert.are.equal("start", select(2, servers:client "late").code)
    files.write(dir .. "/go", "")
    local latest = wait.now() + kit.SAFETY
    while not servers:client "late" and wait.now() < latest do wait.block({}, 0.01) end
    assert.are.same({}, servers.failed)
    assert.are.same({ "late_b", "late_a" }, names(assert(servers:tools())))
  end)

  it("have failed when they are not ready at join_timeout", function()
    local servers <close> = load({ silent = entry(SILENT) }, { join_timeout = 0.1 })
    assert(servers:start())
    local err = servers.failed.silent
    assert.are.equal("timeout", err.kind)
    assert.is_nil(err.message:find("still", 1, true))
  end)

  it("do not wait for one whose list does not come", function()
    local servers <close> = load({ good = entry(GOOD), mute = entry 'on["tools/list"] = function() end' },
      { start_timeout = 0.5 })
    repeat assert(servers:start()) until #sorted(servers.clients) == 2
    local begun = wait.now()
    assert.are.same({ "good_b", "good_a" }, names(assert(servers:tools())))
    assert.are.equal("timeout", servers.failed.mute.kind)
    assert.is_true(wait.now() - begun < kit.SAFETY / 2)
  end)

  it("have the tools that the file and the options say", function()
    local servers <close> = load({ one = entry(GOOD, { includeTools = core.array { "a" } }),
      two = entry(GOOD, { excludeTools = core.array { "a" } }) },
      { each = function(name, options)
        hurry(name, options)
        options.approval = name == "two" and "all" or "none"
        options.name = "other"
      end })
    assert(servers:start())
    local tools = assert(servers:tools())
    assert.are.same({ "one_a", "two_b" }, names(tools))
    assert.are.equal("two", servers:client("two").name)
    assert.is_true(tools[2].needs_approval)
    assert.is_nil(tools[1].needs_approval)
    assert.are.same({ "a", "b" }, names(assert(servers:tools { prefix = false })))
  end)

  it("have tools of which no two have one name", function()
    local servers <close> = load { a = entry 'listed = { { name = "b_c" }, { name = "d" } }',
      a_b = entry 'listed = { { name = "c" } }' }
    assert(servers:start())
    local tools = assert(servers:tools())
    assert.are.equal("a_d", tools[2].name)
    assert.are.equal("a_b_c", tools[3].name)
    assert.is_truthy(tools[1].name:find "^a_b_c_%x%x%x%x%x%x%x%x$")
    assert.are.equal("b_c", tools[1].mcp.name)
    local bare = names(assert(servers:tools { prefix = false }))
    assert.are.same({ "b_c", "d", "c" }, bare)
  end)

  it("show no value of a variable in an error", function()
    local one = entry 'log("I have " .. os.getenv "SECRET") os.exit(1)'
    one.env.SECRET = "${KOINE_SECRET}"
    local servers <close> = load({ one = one }, { variables = { KOINE_SECRET = "a-secret-value" } })
    assert(servers:start())
    local err = servers.failed.one
    assert.is_nil(err.message:find("a-secret-value", 1, true))
    assert.is_truthy(err.message:find("I have [redacted]", 1, true), err.message)
  end)

  it("fail alone where an entry's values are refused", function()
    local servers <close> = load { [" "] = entry(GOOD), none = { command = "/no/such/program" },
      bad = { command = "a\0b" }, good = entry(GOOD) }
    assert(servers:start())
    assert.are.same({ "good" }, sorted(servers.clients))
    assert.are.same({ " ", "bad", "none" }, sorted(servers.failed))
  end)

  it("are all closed with their group, also those that are starting", function()
    local servers = load({ good = entry(GOOD), silent = entry(SILENT) }, { start_timeout = 0.2 })
    repeat assert(servers:start()) until servers.clients.good
    local client = servers.clients.good
    servers:close()
    servers:close()
    assert.are.equal("cancelled", select(2, client:call "a").kind)
    assert.are.equal("cancelled", select(2, servers:start()).kind)
    assert.are.equal("cancelled", select(2, servers:tools()).kind)
  end)

  it("are closed by a task that is cancelled", function()
    koine.run(function()
      local client
      local none, err = koine.timeout(0.3, function()
        local servers <close> = load({ good = entry(GOOD), silent = entry(SILENT) }, { start_timeout = 0.05 })
        repeat assert(servers:start()) until servers.clients.good
        client = servers.clients.good
        koine.sleep(kit.SAFETY)
      end)
      assert.is_nil(none)
      assert.are.equal("timeout", err.kind)
      if client then assert.are.equal("cancelled", select(2, client:call "a").kind) end
    end)
  end)

  it("go on starting when the task that waited for them is cancelled", function()
    koine.run(function()
      local servers <close> = load { late = entry(("await %q\n"):format(dir .. "/go") .. GOOD) }
      assert.is_nil((koine.timeout(0.05, function() return servers:start() end)))
      files.write(dir .. "/go", "")
      assert(servers:start())
      assert.are.equal(2, #assert(servers:tools()))
    end)
  end)

  it("serve several tasks at once", function()
    koine.run(function()
      local servers <close> = load { one = entry(GOOD), two = entry(GOOD) }
      local first, second = koine.gather(function() return servers:start() and servers:tools() end,
        function() return servers:start() and servers:tools() end)
      assert.are.same(names(first), names(second))
      assert.are.equal(4, #first)
    end)
  end)

  it("are not started by load, and close before that", function()
    local servers = load { good = entry(('io.open(%q, "w"):close()\n'):format(dir .. "/started") .. GOOD) }
    assert.are.equal("not_started", select(2, servers:client "good").code)
    assert.are.same({}, names(assert(servers:tools())))
    servers:close()
    assert.is_nil(io.open(dir .. "/started"))
  end)

  it("refuse wrong use", function()
    local servers <close> = load { good = entry(GOOD) }
    kit.raises("name", function() servers:client "god" end)
    kit.raises("prefix", function() servers:tools { prefix = "x" } end)
    kit.raises("path", function() koine.mcp.load(5) end)
    kit.raises("start_timeout", function() koine.mcp.load(path, { start_timeout = 0 }) end)
    kit.raises("each", function() koine.mcp.load(path, { each = function() return 5 end }) end)
  end)
end)
