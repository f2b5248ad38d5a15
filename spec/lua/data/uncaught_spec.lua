-- The report of an uncaught error that the user of a script sees: the interpreter runs the script as a child process.

local files = require "spec.support.files"
local folder = require "spec.support.folder"
local free_port = require "spec.support.free_port"

local LUA = os.getenv "KOINE_LUA" or "lua5.4"

describe("an uncaught error", function()
  local home

  setup(function() home = folder.new() end)
  teardown(function() folder.remove(home) end)

  -- Returns the interpreter's message about a script that fails; ADAPTER in it is an adapter whose server is not there.
  local function said_of(text)
    local path = home .. "/app.lua"
    local adapter = ('require "koine".anthropic { model = "m", key = "k", retry = false, base_url = "%s:%d" }')
      :format("http://127.0.0.1", free_port())
    files.write(path, (text:gsub("ADAPTER", function() return adapter end)))
    local pipe = assert(io.popen(("'%s' '%s' 2>&1"):format(LUA, path)))
    local said = pipe:read "a"
    assert.is_nil(pipe:close(), "the script did not fail")
    return said
  end

  local function counted(text, word) return select(2, text:gsub(word, "")) end

  it("shows file, line and traceback of the call", function()
    local said = said_of "local a = ADAPTER\n\nlocal r = assert(a:chat 'Hello?')"
    assert.is_truthy(said:find("^[^\n]*: [^\n]*app%.lua:3: [^\n]*[Cc]onnect"), said)
    assert.is_truthy(said:find("\nstack traceback:\n.*app%.lua:3: in main chunk"), said)
    assert.are.equal(1, counted(said, "stack traceback"), said)
  end)

  it("shows the loop over a stream, and an error that is raised again", function()
    local said = said_of "local a = ADAPTER\nfor _ in a:stream 'Hello?' do end"
    assert.is_truthy(said:find("^[^\n]*: [^\n]*app%.lua:2: "), said)
    said = said_of "local a = ADAPTER\nlocal r, err = a:chat 'Hello?'\nif not r then\n  error(err)\nend"
    assert.is_truthy(said:find("^[^\n]*: [^\n]*app%.lua:4: "), said)
  end)

  it("shows the place of wrong use once", function()
    local said = said_of "local a = ADAPTER\na:chat('Hello?', { max_token = 5 })"
    assert.is_truthy(said:find("^[^\n]*: [^\n]*app%.lua:2: max_token: unknown option"), said)
    assert.are.equal(1, counted(said:match "^[^\n]*", "app%.lua:2:"), said)
  end)

  it("shows the traceback of the task that raised it", function()
    local said = said_of [[
      local koine = require "koine"
      local a = ADAPTER
      local function deep() return (assert(a:chat "Hello?")) end
      koine.run(function()
        koine.gather(function() local r = deep() return r end, function() koine.sleep(60) end)
      end)]]
    assert.is_truthy(said:find("^[^\n]*: [^\n]*app%.lua:3: "), said)
    assert.is_truthy(said:find("stack traceback:.*app%.lua:3: in upvalue 'deep'"), said)
    assert.are.equal(1, counted(said, "stack traceback"), said)
  end)

  it("says the message alone wherever the script itself makes a text of it", function()
    local said = said_of [[
      local _, err = (ADAPTER):chat "Hello?"
      local texts = { tostring(err), ("%s"):format(err), "" .. err, select(2, pcall(tostring, err)),
        select(2, xpcall(error, function(e) return tostring(e) end, err)), select(2, xpcall(error, tostring, err)) }
      for i = 1, 6 do assert(texts[i] == err.message, texts[i]) end
      error "the end"]]
    assert.is_truthy(said:find("the end", 1, true), said)
  end)
end)
