--- Items 22, 23, 26: what an adapter says about itself, and that the suite talks to its stub alone.

local core = require "koine.core"
local errors = require "koine.data.errors"
local http = require "koine.net.http"
local records = require "koine.data.records"

-- A connection to an address that no host has (RFC 5737): the error, nil when there is none.
local function connect_outside()
  local _, err = http.send { method = "GET", url = "http://192.0.2.1:9/", headers = {}, timeouts = { total = 5 } }
  return err
end

return {
  --- Item 26, the first test of all: from here on connections to anything but the stub fail.
  guard = function(kit)
    local assert = kit.assert
    kit:single(26, "nothing but the stub can be reached, and nothing comes that is not scripted", true, function(self)
      core.offline(true)
      local err = connect_outside()
      assert.is_not_nil(err, "a connection went out")
      assert.are.equal("ConnectionError", err.class, "err.class")
      assert.are_not.equal("timeout", err.kind, "the connection was tried")
      self.script {}
      local adapter = self.new { retry = { max = 0 } }
      local ok, answer, failure = pcall(self.ask, self, adapter, "Hello?")
      local why = not ok and answer or failure
      assert.is_true(not ok or answer == nil, "an answer came that the script does not have")
      assert.is_true(errors.is_error(why) and not why:is "ArgumentError", tostring(why))
    end)
  end,

  --- After the last test: allows all connections again.
  release = function() core.offline(false) end,

  items = function(kit)
    local assert = kit.assert

    kit:single(22, "it has a name, a model, a context and a count", true, function(self)
      local adapter = self.new()
      assert.is_true(#adapter:provider_name() > 0, "provider_name(): not empty")
      assert.is_true(#adapter:model_name() > 0, "model_name(): not empty")
      local context = adapter:max_context_tokens()
      assert.is_true(context == nil or math.type(context) == "integer" and context > 0,
        "max_context_tokens(): nil, or an integer more than 0")
      local count = assert(adapter:count_tokens("Hello?", { system = "s", tools = { self.tool "add" } }))
      assert.are.equal("integer", math.type(count), "count_tokens(): its type")
      assert.is_true(count >= -1, "count_tokens(): -1 or more")
    end)

    kit:single(22, "its models are complete", true, function(self)
      local ok, list, err = pcall(function() return self.new():list_models() end)
      if not ok then
        assert.are.equal("NotImplementedError", list.class, tostring(list))
        return
      end
      assert.is_not_nil(list, err and tostring(err))
      for i, info in ipairs(list) do
        assert.is_true(records.equal(info, records.model_info(records.to_table(info))),
          "list_models()[" .. i .. "]: a model_info")
      end
    end)

    kit:single(23, "it logs in, says so, and logs out, any number of times", true, function(self)
      local adapter = self.new()
      for _ = 1, 2 do
        local _, err = adapter:authenticate()
        assert.is_nil(err, "authenticate(): no error")
        assert.is_true(adapter:authenticated(), "authenticated() after authenticate(): true")
      end
      for _ = 1, 2 do
        adapter:logout()
        assert.are.equal("boolean", type(adapter:authenticated()), "authenticated(): its type")
      end
    end)

    kit:single(23, "its quota report is complete, or there is none", true, function(self)
      local report = self.new():usage_report()
      if report ~= nil then
        assert.is_true(records.equal(report, records.usage_report(records.to_table(report))),
          "usage_report(): a usage_report")
      end
    end)
  end,
}
