-- Credentials in arguments: no error shows them. And what finds one that shows in any spec.

local core = require "koine.core"
local koine = require "koine"
local watch = require "spec.support.run.secret_watch"
local kit = require "spec.lua.whole.secrets.kit"
local raised = require "spec.support.raised"

local KEY, MARK, WIRES, assert_clean = kit.KEY, kit.MARK, kit.WIRES, kit.assert_clean

describe("a credential", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function adapter_of(...) return kit.adapter(server, ...) end

  describe("in an argument", function()
    it("does not show when it is unfit", function()
      for _, key in ipairs { KEY .. "\n", "\t" .. KEY, KEY .. "\0", " " .. KEY, KEY .. "\r\nx: y", { KEY } } do
        for name in pairs(WIRES) do
          local err = raised(adapter_of, name, { key = key })
          assert.are.equal("key", err.field)
          assert_clean(err)
        end
        local adapter = adapter_of("anthropic", { key = function() return key end })
        local _, refused = adapter:chat "Hi"
        assert.are.equal("auth", refused.kind)
        assert_clean(refused)
        for _, header in ipairs { "Authorization", "x-api-key", "x-anything" } do
          if key ~= " " .. KEY and key ~= "\t" .. KEY then
            local err = raised(adapter_of, "anthropic", { headers = { [header] = key } })
            assert_clean(err)
          end
        end
      end
    end)

    it("does not show when it stands in the wrong place", function()
      assert_clean(raised(koine.anthropic, KEY))
      assert_clean(raised(koine.adapter, "anthropic/m", KEY))
      assert_clean(raised(adapter_of, "anthropic", { headers = "Authorization: Bearer " .. KEY }))
      assert_clean(raised(adapter_of, "anthropic", { headers = { ["Authorization: Bearer " .. KEY] = "" } }))
      assert_clean(raised(adapter_of, "anthropic", { headers = { "Authorization: Bearer " .. KEY } }))
      assert_clean(raised(adapter_of, "anthropic", { api_key = KEY }))
      assert_clean(raised(adapter_of, "anthropic", { base_url = "ftp://user:" .. KEY .. "@host" }))
      assert_clean(raised(adapter_of, "anthropic", { base_url = "user:" .. KEY .. "@host" }))
      local adapter = adapter_of("anthropic", { proxy = "http://user:" .. KEY .. "@host :80" })
      assert_clean(raised(adapter.chat, adapter, "Hi"))
      adapter = adapter_of "anthropic"
      assert_clean(raised(adapter.chat, adapter, "Hi", { key = KEY }))
      assert_clean(raised(adapter.chat, adapter, "Hi", KEY))
      assert_clean(raised(adapter.chat, adapter, "Hi", { headers = "Bearer " .. KEY }))
    end)
  end)

  it("does not show where a string stands for a table of options", function()
    local claude = adapter_of "anthropic"
    for name, f in pairs {
      session = function() koine.session.new("anthropic", KEY) end,
      inputs = function() koine.session.run(claude, KEY) end,
      remote = function() koine.executor.remote(KEY) end,
      serve = function() koine.executor.serve(KEY) end,
      executor = function() koine.executor(KEY) end,
      set_env = function() koine.executor { workdir = ".", set_env = KEY } end,
      env = function() koine.process.run({ "true" }, { env = KEY }) end,
      name = function() koine.process.run({ "true" }, { env = { [KEY .. "=1"] = "" } }) end,
      value = function() koine.process.run({ "true" }, { env = { K = KEY .. "\0" } }) end,
      process = function() koine.process.run({ "true" }, KEY) end,
      agent = function() koine.agent(KEY) end,
      call = function() koine.agent { adapter = claude, options = KEY } end,
      run = function() koine.agent { adapter = claude }:start("Hi", KEY) end,
      tool = function() koine.tool(KEY) end,
      dispatcher = function() koine.dispatcher(KEY) end,
      pack = function() koine.packing.pack({}, KEY) end,
      alarm = function() koine.packing.overhead_alarm(KEY) end,
      conversation = function() koine.conversation(claude, KEY) end,
      custom = function() koine.custom_adapter(KEY) end,
      fallback = function() koine.fallback(KEY) end,
      entry = function() koine.fallback { KEY } end,
      contract = function() koine.testing.contract.describe("x", KEY) end,
      compare = function() koine.artifacts.compare({}, KEY) end,
    } do
      local ok, err = pcall(f)
      assert.is_false(ok, name)
      assert.is_nil(tostring(err):find(MARK, 1, true), name .. ": " .. tostring(err))
    end
  end)

  describe("watched over", function()
    it("is found wherever it shows", function()
      assert.is_function(core.error_mt.__gc, "the helper of .busted was not loaded")
      local before = watch.leaks
      watch.leaks, watch.secrets["koine-watched-secret"] = {}, true
      local function partial(whole)
        return core.response { content = "koine-watched-secret", model = "m", stop_reason = "end_turn",
          partial = not whole or nil }
      end
      for _, fields in ipairs {
        { message = "a koine-watched-secret" }, { message = "m", raw = "a koine-watched-secret b" },
        { message = "m", attempts = { { kind = "koine-watched-secret" } } }, { message = "m", partial = partial() },
      } do
        fields.kind = "server"
        assert.are.same({ "koine-watched-secret" }, watch.search(koine.errors.new(fields)))
      end
      assert.are.same({}, watch.search(koine.errors.new { kind = "server", message = "m" }))
      -- … and in every error and partial Response that the collector takes
      collectgarbage()
      collectgarbage()
      watch.leaks = {}
      koine.errors.new { kind = "server", message = "a koine-watched-secret" }
      partial()
      partial(true) -- an answer that succeeded may say it
      collectgarbage()
      collectgarbage()
      local leaks = #watch.leaks
      watch.leaks, watch.secrets["koine-watched-secret"] = before, nil
      assert.are.equal(2, leaks)
    end)
  end)
end)
