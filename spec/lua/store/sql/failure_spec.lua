-- Errors of databases: their kinds, and what they do not show.

local failure = require "koine.store.sql.failure"
local koine = require "koine"
local raised = require "spec.support.raised"

describe("errors of databases", function()
  it("show no password", function()
    local source = "host=x password='pa ss' user=u postgres://me:word@host/db"
    local err = failure.of("postgres", 'missing "=" after "pa ss" in "word"', failure.secrets(source))
    assert.are.equal('postgres: missing "=" after "[redacted]" in "[redacted]"', err.message)
  end)

  it("show no part of a password that is not quoted or escaped", function()
    for source, said in pairs { ["host=h password=hid den user=u"] = 'missing "=" after "den"',
      ["password='hid den host=h"] = 'invalid "hid den host=h"', ["user=u password = hid  den"] = '"hid" "den"',
      ["postgresql://app:hid/den@h:1/db"] = 'invalid integer value "hid" for connection option "port"',
      ["postgresql://app:hid@den@h:1/db"] = 'could not translate host name "den@h"',
      ["postgresql://app:hid#d?en@h/db"] = 'host "hid#d?en"',
      ["postgresql://app@h/db?password=hidden&sslmode=x"] = 'password "hidden"' } do
      local shown = failure.of("postgres", said, failure.secrets(source)).message
      assert.is_nil(shown:find "hid" or shown:find "den", shown)
    end
    local err = failure.of("postgres", 'host "h" port 5432 failed', failure.secrets "postgresql://app:pw@h:5432/db")
    assert.are.equal('postgres: host "h" port 5432 failed', err.message)
  end)

  it("name the database once, and say where no reason was given", function()
    local err = failure.of("postgres", nil)
    assert.are.equal("postgres: it failed without a reason", err.message)
    assert.are.equal("postgres: the connection was lost: it failed without a reason",
      failure.lost("postgres", err, false).message)
  end)

  it("name a query that returns no rows, but for statements that have none", function()
    for _, rows in ipairs { true, 5, "row" } do
      for _, source in ipairs { { query = function() return rows end }, { connect = function()
        return { query = function() return rows end, close = function() end }
      end } } do
        source.dialect = "sqlite"
        local store <close> = koine.store.sql(source)
        for _, call in ipairs { { "get", "k" }, { "put", "k", "v" }, { "claim", "o", 1 }, { "describe" } } do
          local err = raised.as("ArgumentError", store[call[1]], store, table.unpack(call, 2))
          assert.are.same({ "query", "array of rows (tables by column)" }, { err.field, err.expected })
          assert.is_truthy(err.message:find("got a " .. type(rows), 1, true))
        end
      end
    end
  end)

  -- What each operation makes of a `query` that answers every statement with these rows, or edits the real ones.
  local CALLS = { { "get", "k" }, { "list", "" }, { "put", "k", "v" }, { "put", "k", "v", { fence = { "l", 1 } } },
    { "delete", "k" }, { "lease", "l", "o", 1 }, { "release", "l", "o" }, { "push", "q", "i" },
    { "push", "q", "i", { id = "m" } }, { "claim", "o", 1 }, { "ack", "q", "o", 1, 1 }, { "unclaim", "q", "o", 1 },
    { "take", "b", 1, { capacity = 1, per = 1 } }, { "watch", "", 1 }, { "describe" } }

  it("name the row that was expected and did not come", function()
    for _, rows in ipairs { {}, { {} }, { 5 }, { "row" }, { { now = "late", n = "1.5", v = false, at = {} } } } do
      for dialect in pairs { sqlite = true, postgres = true } do
        local store <close> = koine.store.sql { dialect = dialect, query = function() return rows end, blocking = true }
        for _, call in ipairs(CALLS) do
          local ok, done, err = pcall(store[call[1]], store, table.unpack(call, 2))
          assert.is_true(ok, ("%s: %s"):format(call[1], tostring(done)))
          if err then
            assert.are.equal("protocol", err.kind)
            assert.is_truthy(err.message:find "^%a+: unexpected .* in the column [%w_]+ expected", err.message)
          end
        end
        local done, err = store:put("k", "v")
        assert.is_nil(done)
        if not rows[1] then
          assert.are.equal(dialect .. ": unexpected answer without a row, one with a number in the column now expected",
            err.message)
        end
      end
    end
  end)

  it("have a kind, or are given as they are", function()
    for words, kind in pairs { ["LuaSQL: database is locked"] = "overloaded", ["database or disk is full"] = "limit",
      ["attempt to write a readonly database"] = "permission", ["near X: syntax error"] = "other",
      ["file is not a database"] = "protocol" } do
      assert.are.equal(kind, failure.of("sqlite", words).kind)
    end
    for words, kind in pairs { ["ERROR:  deadlock detected\nDETAIL: secret"] = "overloaded",
      ["FATAL:  password authentication failed for user \"u\""] = "auth", ["FATAL: role \"u\" does not exist"] = "auth",
      ["ERROR:  permission denied for table koine_values"] = "permission",
      ["ERROR:  could not extend file: No space left on device"] = "limit",
      ["ERROR:  canceling statement due to statement timeout"] = "timeout",
      ["server closed the connection unexpectedly"] = "connect", ["FATAL:  the database system is starting up"] =
      "overloaded" } do
      local err = failure.of("postgres", words)
      assert.are.equal(kind, err.kind)
      assert.is_nil(err.message:find "secret")
    end
    local own = koine.errors.new { kind = "timeout", message = "late" }
    assert.are.equal(own, failure.of("postgres", own))
  end)
end)
