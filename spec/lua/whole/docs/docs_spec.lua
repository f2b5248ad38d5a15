-- The documentation against the code: every Lua block compiles and runs, what it promises to print is printed, every
-- public name is on some page, and no page names what does not exist.

local classes = require "spec.lua.whole.docs.classes"
local files = require "spec.support.files"
local folders = require "spec.support.folder"
local koine = require "koine"
local lfs = require "lfs"
local pages = require "spec.lua.whole.docs.pages"
local rows = require "koine.provider"
local vocabulary = require "koine.data.vocabulary"

local read, lines_of, blocks_of, program = files.read, pages.lines_of, pages.blocks_of, pages.program
local anchors, os_within = pages.anchors, pages.os_within

local PAGES = { "README.md" }
for name in lfs.dir "docs" do
  if name:find "%.md$" then PAGES[#PAGES + 1] = "docs/" .. name end
end
table.sort(PAGES)

local WIDTH, ROW = 130, 140 -- characters in a line of docs/, in a row of a table

-- Names that pages may mention, saying so, before they exist.
local PLANNED = { auth = true }

-- Files that begin with Koine's name, and the C module, which only Koine's own files require.
local FILES = { h = true, pc = true, core = true, svg = true, cassette = true } -- the format koine.cassette.v1

local texts, all = {}, {}
for i, path in ipairs(PAGES) do
  texts[path] = read(path)
  all[i] = texts[path]
end
all = table.concat(all, "\n")

local function run(path, server, place) return pages.run(path, texts[path], server, place) end

-- Where README's programs want a tool called.
local CALL = { content = { { type = "tool_use", name = "add", arguments = { a = 19, b = 23 } } } }
local SCRIPTS = { ["README.md"] = {
  { content = "Because of Rayleigh scattering." },
  CALL, { echo = true },
} }

describe("documentation", function()
  local server, directory, place

  setup(function()
    server = assert(koine.testing.start())
    directory = folders.new()
    place = os_within(directory)
  end)
  teardown(function()
    koine.testing.offline(false)
    server:stop()
    folders.remove(directory)
  end)

  before_each(function() assert(server:reset()) end)

  for _, path in ipairs(PAGES) do
    it(path .. " compiles, block by block", function()
      local lines = lines_of(texts[path])
      for _, block in ipairs(blocks_of(lines)) do assert(program(path, lines, { block })) end
    end)

    it(path .. " runs", function()
      assert(server:script(SCRIPTS[path] or "echo"))
      local ok, err = xpcall(run, function(err) return type(err) == "string" and debug.traceback(err, 2) or err end,
        path, server, place)
      if not ok then error(err, 0) end
      for _, request in ipairs(assert(server:requests())) do
        assert.are.same({}, request.problems, path .. ": a request that a provider would refuse")
      end
    end)
  end

  it("runs the blocks of shell commands that are marked", function()
    local n = 0
    for _, path in ipairs(PAGES) do
      assert(server:reset())
      assert(server:script "echo")
      for _, block in ipairs(pages.run_shell(texts[path], server, directory)) do
        assert.are.equal(block.promised, block.output, ("%s:%d"):format(path, block.line))
        n = n + 1
      end
    end
    assert.is_true(n > 0)
  end)

  it("blocks of JSON are JSON", function()
    local cjson, n = require "cjson", 0
    for _, path in ipairs(PAGES) do
      for block in texts[path]:gmatch "\n```json\n(.-)\n```" do
        assert(pcall(cjson.decode, block), path .. ": " .. block)
        n = n + 1
      end
    end
    assert.is_true(n > 2)
  end)

  it("the cookbook has thirty recipes of at most 15 lines", function()
    local text = texts["docs/cookbook.md"]
    local _, recipes = text:gsub("\n### ", "")
    assert.is_true(recipes >= 30, recipes .. " recipes")
    local lines = lines_of(text)
    for _, block in ipairs(blocks_of(lines)) do
      local visible = lines[block.from - 1] == "```lua"
      assert.is_true(not visible or block.to - block.from < 15, ("docs/cookbook.md:%d"):format(block.from))
    end
  end)

  it("README is short, and names each page once in its list", function()
    local _, words = texts["README.md"]:gsub("%S+", "")
    assert.is_true(words < 900, words .. " words")
    local list = texts["README.md"]:match "\n## Documentation\n(.*)"
    for _, path in ipairs(PAGES) do
      if path:find "^docs/" then
        local _, n = list:gsub("%(" .. path:gsub("%p", "%%%0") .. "%)", "")
        assert.are.equal(1, n, path)
      end
    end
  end)

  it("keeps its lines within the page", function()
    for _, path in ipairs(PAGES) do
      for i, line in ipairs(path:find "^docs/" and lines_of(texts[path]) or {}) do
        local n = utf8.len(line) or math.huge
        assert.is_true(n <= (line:find "^|" and ROW or WIDTH), ("%s:%d: %d characters"):format(path, i, n))
      end
    end
  end)

  it("links to files that are there", function()
    for _, path in ipairs(PAGES) do
      local folder = path:match "^(.*/)" or ""
      for target in texts[path]:gmatch "%]%(([^)#:]+)[^):]*%)" do
        assert(io.open(folder .. target)):close()
      end
      for target, anchor in texts[path]:gmatch "%]%(([^)#:]*)#([%w%-]+)%)" do
        local page = target == "" and texts[path] or read(folder .. target)
        assert.is_true(anchors(page)[anchor], ("%s: no heading %s#%s"):format(path, target, anchor))
      end
    end
  end)
end)

-- Names -------------------------------------------------------------------------------------------------------------

local function has_word(text, word)
  return (" " .. text .. " "):find("[^%w_]" .. word:gsub("%p", "%%%0") .. "[^%w_]") ~= nil
end

-- Asserts that every name of the array stands on the page (a text).
local function assert_named(names, page, where)
  assert(#names > 0, "nothing to look for in " .. where)
  for _, name in ipairs(names) do assert.is_true(has_word(page, name), ("%q is not in %s"):format(name, where)) end
end

-- All that koine exports: its own fields, the rows, and what its source says that it loads on first use.
local function exports()
  local names, seen = {}, {}
  local function add(name)
    if seen[name] then return end
    local ok, value = pcall(function() return koine[name] end) -- a name that people may mean raises and says which
    if ok and value ~= nil then names[#names + 1], seen[name] = name, true end
  end
  for name in read "lua/koine/init.lua":gmatch "[%a_][%w_]*" do add(name) end
  for _, name in ipairs(rows.names) do add(name) end
  table.sort(names)
  return names
end

describe("documentation: names", function()
  it("everything that koine exports is documented", function()
    for _, name in ipairs(exports()) do
      assert.is_true(has_word(all, "koine." .. name), "koine." .. name .. " is on no page")
    end
  end)

  it("every method and every function of a module is documented", function()
    local modules = { errors = koine.errors, testing = koine.testing, contract = koine.testing.contract,
      pricing = koine.pricing, conversation = koine.conversation, playbook = koine.testing.playbook,
      packing = koine.packing, agent = koine.agent, session = koine.session,
      tool = koine.tool, artifacts = koine.artifacts, process = koine.process, schema = koine.schema,
      hosts = koine.hosts, store_contract = koine.testing.store_contract }
    for class, methods in pairs(classes.all()) do
      for _, name in ipairs(classes.functions_of(methods)) do
        assert.is_truthy(all:find("[:.]" .. name .. "%f[^%w_]"), ("%s:%s is on no page"):format(class, name))
      end
    end
    for module, functions in pairs(modules) do
      for _, name in ipairs(classes.functions_of(functions)) do
        assert.is_true(has_word(all, name), ("koine.%s.%s is on no page"):format(module, name))
      end
    end
  end)

  it("no page calls a method that does not exist", function()
    local known = {}
    local function learn(methods)
      for name in pairs(methods) do known[name] = not classes.INTERNAL[name] or nil end
    end
    learn(string)
    learn(getmetatable(io.stdout).__index)
    for _, methods in pairs(classes.all()) do learn(methods) end
    known.start, known.finish = true, true -- an agent's, a cassette's; an adapter's, a stream's are internal
    for name in pairs(getmetatable(require("socket").tcp()).__index) do known[name] = true end
    for _, path in ipairs(PAGES) do
      for i, line in ipairs(lines_of(texts[path])) do
        for name in line:gmatch "[%w_%])`]:([%l_][%w_]*)%s?[({\"]" do
          assert.is_true(known[name], ("%s:%d: no method is called %s"):format(path, i, name))
        end
      end
    end
  end)

  it("no page names a part of koine that does not exist", function()
    for _, path in ipairs(PAGES) do
      for i, line in ipairs(lines_of(texts[path])) do
        local at = ("%s:%d: "):format(path, i)
        for name in line:gmatch "%f[%w]koine%.([%l_][%w_]*)" do
          local planned = PLANNED[name] and (line:lower():find "planned" or line:find "to come" or line:find "auth")
          assert(planned or koine[name] ~= nil or FILES[name], at .. "there is no koine." .. name)
        end
        -- `lua5.4 -l koine.X.Y` names a module, for a program of its own
        for module, name in line:gsub("%-l koine[%w_.]+", ""):gmatch "%f[%w]koine%.([%l_]+)%.([%l_][%w_]*)" do
          local value = koine[module]
          if type(value) == "table" then
            assert(value[name] ~= nil, ("%sthere is no koine.%s.%s"):format(at, module, name))
          end
        end
      end
    end
  end)

  it("the files that show what the page about security claims are there", function()
    local count = 0
    for name in texts["docs/security.md"]:gmatch "`([%l_][%l%d_/]*)`" do
      local shelf = name:match "^([^/]*)/"
      if shelf == "fuzz" or shelf and lfs.attributes("spec/" .. shelf, "mode") or name:find "_spec$" then
        count = count + 1
        local found = false
        for _, place in ipairs { "spec/lua/%s.lua", "spec/%s.c", "spec/%s.lua", "%s.c" } do
          found = found or lfs.attributes(place:format(name), "mode") == "file"
        end
        assert(found, "docs/security.md: there is no " .. name)
      end
    end
    assert.is_true(count > 30)
  end)

  it("the page about security has a row for each fuzz target", function()
    local count = 0
    for name in lfs.dir "fuzz" do
      local target = name:match "^(.*)%.c$"
      if target then
        count = count + 1
        assert(texts["docs/security.md"]:find("\n| `" .. target .. "` |", 1, true), "no row for " .. target)
      end
    end
    assert.is_true(count > 9)
  end)

  it("the page about providers says of every row what was seen, and what is from documentation", function()
    local said, none = {}, "none"
    local table_of = assert(texts["docs/providers.md"]:match "\n## What was seen\n(.-)\n## ")
    for name, seen, rest in table_of:gmatch "\n| `koine%.([%l_]+)` | ([^|]*) | ([^|]*) |" do
      assert(not said[name] and #rest > 0, name)
      said[name] = seen:sub(1, #none)
    end
    for _, name in ipairs(rows.names) do
      local row = rows.load(name)
      assert(said[name], "docs/providers.md: no line for koine." .. name)
      assert(row.source == "documentation" or said[name] ~= none, "docs/providers.md: what was seen of koine." .. name)
    end
  end)

  it("every option is on the adapter's page", function()
    local options, names = require "koine.call.options", {}
    local code = read "lua/koine/call/options/init.lua" .. read "lua/koine/call/options/special.lua"
    for word in code:gmatch "%f[%w_]([%l_][%l_%d]*)" do
      for _, try in ipairs { function(v) options.constructor({ [word] = v }, {}, { "name", "api", "auth" }) end,
        function(v) options.call({ [word] = v }, options.constructor({}, {})) end } do
        local _, err = pcall(try, coroutine.create(print)) -- a value that no option takes
        if koine.errors.is_error(err) and err.message:find " expected, got " and err.field == word then
          names[#names + 1] = "`" .. word .. "`"
        end
      end
    end
    for _, name in ipairs(names) do
      assert.is_truthy(texts["docs/adapter.md"]:find(name, 1, true), name .. " is not in docs/adapter.md")
    end
    assert.is_true(#names > 20)
  end)

  -- The captures of a pattern in C or Lua sources.
  local function in_source(pattern, ...)
    local names = {}
    for _, path in ipairs { ... } do
      for name in read(path):gmatch(pattern) do names[#names + 1] = name end
    end
    return names
  end

  it("every quirk, kind, stop reason, delta and warning has its place", function()
    assert_named(in_source("%f[%u]%u+%(([%l_]+)[,)]", "src/core/codec/quirks.c"), texts["docs/custom_adapters.md"],
      "docs/custom_adapters.md")
    assert_named(vocabulary.kind_names, texts["docs/errors.md"], "docs/errors.md")
    assert_named(vocabulary.stops, texts["docs/response.md"], "docs/response.md")
    assert_named(vocabulary.delta_types, texts["docs/stream.md"], "docs/stream.md")
    local sources, codes = files.below("src/core", ".c"), {}
    for _, pattern in ipairs { "%f[%w]warn%(&?[or], \"([%l_]+)\"", "codec_warn%([^,]+, [^,]+, \"([%l_]+)\"",
      "message_warn%([^,]*, \"([%l_]+)\"", "warning%(c, STR%(\"([%l_]+)\"", "ev%->id = STR%(\"([%l_]+)\"",
      "writer_warn_as%([^,]+, \"([%l_]+)\"",
      "warn%(%l+, STR%(\"([%l_]+)\"", "push_warning%(s, \"([%l_]+)\"",
      "ollama_cut %u+ = { \"([%l_]+)\"" } do
      table.move(in_source(pattern, table.unpack(sources)), 1, 100, #codes + 1, codes)
    end
    assert.is_true(#codes > 10, "warnings are searched for in the wrong places")
    assert_named(codes, texts["docs/response.md"], "docs/response.md")
  end)

  it("every word of a scripted answer is on the page about testing", function()
    local page, source = texts["docs/testing.md"], read "lua/koine/testing/loopback/script/answers.lua"
    for _, pattern in ipairs { "ANSWER = set %[%[(.-)%]%]", "\nlocal ERROR = set \"(.-)\"",
      "STREAM_ERROR = set \"(.-)\"", "FAULT = set %[%[(.-)%]%]",
      "REASONING = set \"(.-)\"" } do
      local list = assert(source:match(pattern), pattern)
      for word in list:gmatch "%S+" do assert.is_true(has_word(page, word), word .. " is not in docs/testing.md") end
    end
  end)
end)
