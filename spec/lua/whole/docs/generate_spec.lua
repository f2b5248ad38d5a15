-- The files that make generate writes: on the tree as it is, and on a copy of it with one provider more.

local files = require "spec.support.files"
local folder = require "spec.support.folder"

local LUA = os.getenv "KOINE_LUA" or "lua5.4"

local ROW = [[
-- Toy AI.

return {
  name = "toy",
  title = "Toy AI",
  codec = "chat",
  base_url = "https://api.toy.example/toys/v1",
  list = "/models",
  env = { "TOY_API_KEY" },
  auth = "bearer",
  source = "documentation",
}
]]

-- Returns the output of the program in a directory, and whether it was content.
local function generate(directory, option)
  local pipe = assert(io.popen(("cd '%s' && %s tools/generate.lua %s 2>&1"):format(directory, LUA, option or "")))
  local printed, content = pipe:read "a", pipe:close()
  return printed, content == true
end

local function lines_of(text)
  local lines = {}
  for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
  table.sort(lines)
  return lines
end

describe("make generate", function()
  local directory

  setup(function()
    directory = folder.new()
    local copied = os.execute(("cp -R llms.txt docs lua rockspec src tools types '%s'"):format(directory))
    assert.is_true(copied)
  end)
  teardown(function() folder.remove(directory) end)

  it("was run: what is there is what it writes", function()
    assert.are.same({ "generated: as the rows and the tree say\n", true }, { generate(".", "--check") })
  end)

  it("drew the pictures: of a trace from its log, of the rooms from their plan, of README", function()
    for _, name in ipairs { "picture", "picture_rooms", "picture_koine" } do
      assert.is_true(os.execute(("%s tools/%s.lua --check"):format(LUA, name)), name)
    end
  end)

  it("draws a room that the plan has, and refuses a picture without it", function()
    local page, picture = directory .. "/docs/architecture.md", directory .. "/docs/img/rooms.svg"
    local plan, drawn = files.read(page), files.read(picture)
    files.write(page, (plan:gsub("\ndata:\n", "\ndata:\nattic: data\n")))
    local command = ("cd '%s' && %s tools/picture_rooms.lua %%s >/dev/null"):format(directory, LUA)
    assert.is_nil(os.execute(command:format "--check"))
    assert.is_true(os.execute(command:format ""))
    assert.is_truthy(files.read(picture):find(">attic<", 1, true))
    files.write(page, plan)
    files.write(picture, drawn)
  end)

  it("makes one new file a provider on every list", function()
    local WRITTEN = { "docs/adapter.md", "docs/providers.md", "llms.txt", "lua/koine/provider/names.lua",
      "lua/koine/testing/loopback/paths.lua", "rockspec/koine-scm-1.rockspec", "types/koine/providers.lua" }
    files.write(directory .. "/lua/koine/provider/rows/toy.lua", ROW)
    local printed, content = generate(directory, "--check")
    assert.is_false(content)
    local differ = {}
    for i, path in ipairs(WRITTEN) do differ[i] = path .. ": differs from what make generate writes" end
    assert.are.same(differ, lines_of(printed))
    assert.are.same(WRITTEN, lines_of((generate(directory))))
    for path, text in pairs {
      ["docs/adapter.md"] = "\n| `koine.toy` | `https://api.toy.example/toys/v1` | `TOY_API_KEY` |\n",
      ["docs/providers.md"] = "\n| `koine.toy` | Chat | `TOY_API_KEY` | from documentation |\n",
      ["llms.txt"] = "`koine.toy`",
      ["lua/koine/provider/names.lua"] = '"toy",',
      ["lua/koine/testing/loopback/paths.lua"] = '"/toys/v1"',
      ["types/koine/providers.lua"] = "function koine.toy(",
      ["rockspec/koine-scm-1.rockspec"] = '["koine.provider.rows.toy"] = "lua/koine/provider/rows/toy.lua",',
    } do
      assert.is_truthy(files.read(directory .. "/" .. path):find(text, 1, true), path)
    end
    local seen = "\n| `koine.toy` | none | everything |\n"
    assert.is_truthy(files.read(directory .. "/docs/providers.md"):find(seen, 1, true))
    assert.are.same({ "generated: as the rows and the tree say\n", true }, { generate(directory, "--check") })
  end)

  it("knows wires and choices that it never saw, by their names", function()
    local path = directory .. "/lua/koine/provider/rows/toy.lua"
    local apis = '{ zoo = { codec = "zoo" }, toy = { codec = "toy_talk" }, chat = { codec = "chat" } }'
    files.write(path, (ROW:gsub('codec = "chat"', 'api = "toy", apis = ' .. apis)))
    generate(directory)
    for page, text in pairs {
      ["docs/providers.md"] = '\n| `koine.toy` | Toy talk; `api = "chat"` or `"zoo"` | ',
      ["docs/adapter.md"] = '\n| `koine.toy` | `"toy"`, `"chat"`, `"zoo"` | `"toy"` |\n',
      ["lua/koine/testing/loopback/paths.lua"] = '\n  toy_talk = { "/toys/v1" },\n',
    } do
      assert.is_truthy(files.read(directory .. "/" .. page):find(text, 1, true), page)
    end
    files.write(path, ROW)
    generate(directory)
  end)

  it("refuses a row with another file's name", function()
    files.write(directory .. "/lua/koine/provider/rows/doll.lua", ROW)
    local printed, content = generate(directory, "--check")
    os.remove(directory .. "/lua/koine/provider/rows/doll.lua")
    assert.are.same({ false, true }, { content, printed:find('rows/doll.lua: its name is "toy"', 1, true) ~= nil })
  end)
end)
