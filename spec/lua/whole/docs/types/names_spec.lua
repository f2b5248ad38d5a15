-- The types for editors (types/koine) against the code, both ways: every public name and every method has a type, and
-- every typed one exists. Every name that is used in a type is defined.

local classes = require "spec.lua.whole.docs.classes"
local koine = require "koine"
local typed = require "spec.lua.whole.docs.types.typed"

local function is_object(class) return class:find "^koine%.%u" ~= nil end

describe("types", function()
  it("have the form that tools read", function()
    assert.are.same({}, typed.all.problems)
    local count = 0
    for _, file in ipairs(typed.files) do
      assert(file.title, file.path .. ": its second line does not say what is in it")
      assert(loadfile(file.path))
      count = count + #file.items
    end
    assert.is_true(count > 500)
  end)

  it("say of each function and class what it is", function()
    for name, item in pairs(typed.all.functions) do assert(item.text ~= "", name .. ": nothing is said of it") end
    for name, item in pairs(typed.all.classes) do assert(item.class.text ~= "", name .. ": nothing is said of it") end
  end)

  it("use only names that are defined, and define only what is used", function()
    local used = {}
    local function look(text, item)
      for _, name in ipairs(typed.names(text)) do
        assert(typed.all.classes[name] or typed.all.aliases[name],
          ("%s:%d: no type is called %s"):format(item.path, item.line, name))
        used[name] = true
      end
    end
    local function look_at_each(list, item)
      for _, one in ipairs(list) do look(type(one) == "string" and one or one.type, item) end
    end
    for _, item in pairs(typed.all.functions) do
      for _, list in ipairs { item.params, item.returns, item.overloads } do look_at_each(list, item) end
    end
    for _, item in pairs(typed.all.aliases) do look_at_each(item.alias.members, item) end
    for _, item in pairs(typed.all.classes) do
      local class = item.class
      for _, list in ipairs { class.parents, class.fields, class.overloads } do look_at_each(list, item) end
    end
    for name, item in pairs(typed.all.classes) do
      assert(used[name] or item.class.place or name == "koine", name .. " is used nowhere")
    end
    for name in pairs(typed.all.aliases) do assert(used[name], name .. " is used nowhere") end
  end)

  it("name the arguments of each function in its order", function()
    for name, item in pairs(typed.all.functions) do
      local listed = {}
      for i, param in ipairs(item.params) do listed[i] = param.name end
      assert.are.equal(item.arguments, table.concat(listed, ", "), name)
    end
  end)
end)

-- Names -------------------------------------------------------------------------------------------------------------

-- Modules that load their parts on first use.
local PARTS = { ["koine.hosts"] = { "cqueues", "luv", "poll" },
  ["koine.store"] = { "memory", "file", "redis", "sql", "engine", "schema" },
  ["koine.testing"] = { "playbook", "contract", "store_contract", "cassette" } }

-- What a module that users call is called for is told by an overload.
local function is_callable(value)
  return type(value) == "table" and (getmetatable(value) or {}).__call ~= nil
end

-- The number of a Lua function's arguments; nil where it takes any, or is written in C. Of a function that check.colons
-- put around another one, that of the other.
local function count_of(f)
  local info = debug.getinfo(f, "uS")
  if info.what == "C" then return nil end
  if not info.isvararg then return info.nparams end
  for i = 1, info.nups do
    local name, inner = debug.getupvalue(f, i)
    if name == "f" and type(inner) == "function" then return count_of(inner) end
  end
end

-- Functions that others are made beside, which take more or fewer: wake checks as park does, the method `output` of
-- most streams only raises.
local OTHERS = { ["koine.wake"] = true, ["koine.Stream.output"] = true, ["koine.Stream.elements"] = true }

-- Asserts that the function takes as many arguments as its type says; `own` more stand before them.
local function assert_arguments(f, item, own)
  local count = count_of(f)
  if not count or OTHERS[item.holder .. "." .. item.name] then return end
  assert.are.equal(count - own, #item.params, item.holder .. "." .. item.name .. ": the number of arguments")
end

-- Compares a module with its class, and the tables in it with theirs.
local function compare(path, value)
  local item = assert(typed.all.classes[path], "there is no class " .. path)
  local there, fields = {}, typed.fields_of(path)
  for name in pairs(value) do there[name] = true end
  for _, name in ipairs(PARTS[path] or {}) do there[name] = value[name] ~= nil or nil end
  local written = {}
  for name in pairs(fields) do written[name] = true end
  for _, one in pairs(typed.all.functions) do
    if one.holder == path then written[one.name] = true end
  end
  for name, one in pairs(typed.all.classes) do
    local member = one.class.place and name:sub(1, #path + 1) == path .. "." and name:sub(#path + 2):match "^[^.]+$"
    if member then written[member] = true end
  end
  typed.assert_same(there, written, path)
  assert.are.equal(is_callable(value), #item.class.overloads > 0, path .. ": whether it is called")
  for name in pairs(there) do
    local one, member = typed.all.functions[path .. "." .. name], value[name]
    if one then
      assert(type(member) == "function", path .. "." .. name .. " is no function")
      assert_arguments(member, one, 0)
    elseif typed.all.classes[path .. "." .. name] then
      compare(path .. "." .. name, member)
    else
      assert(type(member) ~= "function", path .. "." .. name .. " is a function")
    end
  end
end

-- The class of each object that classes.all makes.
local CLASSES = { acp = "AcpConnection", acp_session = "AcpSession", acp_turn = "AcpTurn", adapter = "Adapter",
  agent = "Agent", alarm = "OverheadAlarm", cassette = "Cassette", conversation = "Conversation",
  dispatcher = "Dispatcher", engine = "Engine", error = "Error", executor = "Executor", keeper = "Keeper",
  limiter = "RateLimiter", mcp_client = "McpClient", mcp_login = "McpLogin", mcp_servers = "McpServers",
  observe_cost = "ObserveCost", observe_otlp = "ObserveOtlp", output_stream = "Stream", program = "Program",
  provider = "SessionProvider", response = "Response", run = "Run", server = "LoopbackServer", session = "Session",
  shared_limiter = "StoreLimiter", store = "Store", stream = "Stream", task = "Task" }

-- Of these classes the objects have methods besides that Koine's own files call: these, and those of classes.INTERNAL.
local HIDDEN = { adapter = { begin = true }, stream = { settle = true }, engine = {}, task = { park = true } }

-- Those that it does not have.
local function more_classes()
  local target = { run_turn = print }
  local store = koine.store.memory {}
  local path = os.tmpname()
  local log <close> = assert(koine.observe.jsonl(path))
  local follower <close> = koine.observe.follow(path)
  os.remove(path)
  return { SharedDispatcher = koine.dispatcher.shared { store = store, target = target }, ObserveJsonl = log,
    LogFollower = follower, Observer = koine.observe.new { to = print } }
end

describe("types of names", function()
  it("are there for everything that koine exports, and for nothing else", function()
    local whole = {}
    for name, value in pairs(koine) do whole[name] = value end
    compare("koine", whole)
  end)

  it("are there for every method of every object, and for nothing else", function()
    local seen = {}
    local function check(class, methods, hidden)
      local there = {}
      for name, value in pairs(methods) do
        local is_hidden = hidden and (hidden[name] or classes.INTERNAL[name])
        if type(value) == "function" and not name:find "^_" and not is_hidden then
          there[name] = true
          local item = typed.all.functions[class .. "." .. name]
          if item then assert_arguments(value, item, 1) end
        end
      end
      typed.assert_same(there, typed.methods_of(class), class)
      seen[class] = true
    end
    for name, methods in pairs(classes.all()) do
      if CLASSES[name] then check("koine." .. CLASSES[name], methods, HIDDEN[name]) end
    end
    for name, object in pairs(more_classes()) do check("koine." .. name, getmetatable(object).__index) end
    seen["koine.Playbook"], seen["koine.AcpTarget"] = true, true -- below
    for _, item in pairs(typed.all.functions) do
      assert(not is_object(item.holder) or seen[item.holder], item.holder .. ": no object of that class was looked at")
    end
  end)

  it("say of objects that are tables what they hold", function()
    local book = koine.testing.playbook { { step = 1, type = "message", content = "Hello." } }
    local target <close> = koine.dispatcher.acp { command = "none", cwd = "." }
    for class, object in pairs { ["koine.Playbook"] = book, ["koine.AcpTarget"] = target } do
      for name in pairs(typed.methods_of(class)) do
        assert(type(object[name]) == "function", class .. " has no method " .. name)
      end
      for name in pairs(typed.fields_of(class)) do assert(object[name] ~= nil, class .. " has no field " .. name) end
    end
  end)
end)
