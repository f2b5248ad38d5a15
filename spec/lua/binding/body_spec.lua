-- The body of an answer that the core holds: userdata koine.body.

local bodies = require "spec.lua.binding.bodies"
local core = require "koine.core"
local raised_as = require("spec.support.raised").as

local TEXT <const> = '{"embedding":[1,2]}'
local EMBEDDING = { paths = { "embedding" } }

describe("the body of a request with hold_body", function()
  local server

  setup(function() server = bodies.start() end)
  teardown(function() server.stop() end)

  -- Whatever is done with a closed one raises.
  local function check_closed(body)
    for _, use in ipairs { tostring, function() return #body end, function() core.vectors(body, EMBEDDING) end } do
      local err = raised_as("ArgumentError", use, body)
      assert.are.equal("body", err.field)
      assert.are.equal("an open body", err.expected)
    end
  end

  it("has the length and the text of what came", function()
    for _, text in ipairs { "x", "a\0b\n", ("0123456789abcdef"):rep(1 << 16) } do
      local body <close> = server.body(text)
      assert.are.equal("userdata", type(body))
      assert.are.equal(#text, #body)
      assert.is_true(tostring(body) == text)
      assert.is_true(tostring(body) == text)
    end
  end)

  it("may be empty", function()
    local body <close> = server.body ""
    assert.are.equal(0, #body)
    assert.are.equal("", tostring(body))
    local value, err = core.vectors(body, EMBEDDING)
    assert.is_nil(value)
    assert.are.equal("protocol", err.kind)
  end)

  it("may be closed any number of times, and is of no use then", function()
    local body = server.body(TEXT)
    body:close()
    check_closed(body)
    body:close()
    check_closed(body)
    do
      local closing <close> = server.body(TEXT)
      body = closing
    end
    check_closed(body)
  end)

  it("stays open when vectors are read, also when that fails", function()
    local body <close> = server.body(TEXT)
    for _ = 1, 2 do assert.are.same({ 1, 2 }, core.vectors(body, EMBEDDING).embedding) end
    assert.is_false(pcall(core.vectors, body, { paths = { "embedding" }, packing = "float7" }))
    assert.is_false(pcall(core.vectors, body, 1))
    assert.are.same({ 1, 2 }, core.vectors(body, EMBEDDING).embedding)
    assert.are.equal(TEXT, tostring(body))
  end)

  it("is the same at each poll, and outlives the request", function()
    local request = server.request(TEXT)
    local body <close> = request:poll().body
    assert.are.equal(body, request:poll().body)
    request:close()
    assert.are.equal(TEXT, tostring(body))
  end)

  it("is closed at a further poll too, once it was closed", function()
    local request <close> = server.request(TEXT)
    request:poll().body:close()
    check_closed(request:poll().body)
  end)

  it("is a string without the option", function()
    for _, hold in ipairs { false, "nothing" } do
      local request <close> = server.request(TEXT, { hold_body = hold ~= "nothing" and hold or nil })
      assert.are.equal(TEXT, request:poll().body)
      assert.are.equal(TEXT, request:poll().body)
    end
  end)

  it("goes with the collector", function()
    local gone = setmetatable({}, { __mode = "k" })
    gone[server.body(TEXT)] = true
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(gone))
  end)

  it("goes with the state, whatever order it closes in", function()
    local child = assert(io.popen(("%s spec/lua/binding/closing.lua %s 2>&1; echo $?"):format(os.getenv "KOINE_LUA"
      or "lua5.4", server.url)))
    assert.are.equal("0\n", child:read "a")
    child:close()
  end)
end)
