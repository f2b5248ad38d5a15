-- Operations of the store on SQL that are cancelled while a statement waits: no other operation gets its reply.

local folder = require "spec.support.folder"
local koine = require "koine"
local sqlite = require "spec.lua.store.sql.sqlite"

if sqlite.missing then
  describe("koine.store.sql whose operation is cancelled", function() pending("gives nobody else's reply: "
    .. sqlite.missing) end)
  return
end

describe("koine.store.sql whose operation is cancelled", function()
  local dir, path

  before_each(function() dir, path = sqlite.make() end)
  after_each(function() folder.remove(dir) end)

  -- A connection of the server's side of the network: each statement is run when it comes, and its reply lies on the
  -- wire until somebody reads, which takes some time. `stop(n)` cancels the reader of the nth statement.
  local function wire()
    local conn, replies, n = sqlite.connect(path), {}, 0
    local query = sqlite.query_of(conn)
    local self = { stop = function() end }
    function self.query(_, sql)
      if sql:find "^PRAGMA busy_timeout" then return {} end -- it would stop this process for a lock of its own
      n = n + 1
      replies[#replies + 1] = table.pack(query(sql))
      self.stop(n)
      koine.sleep(0.001)
      return table.unpack(table.remove(replies, 1), 1, 2)
    end
    function self.close()
      self.closed = true
      return conn:close()
    end
    return self
  end

  -- Cancels a put in each of its statements in turn: the next operations on `store` are answered as they should be.
  local function cut(store, stop_at)
    local cuts = 0
    koine.run(function()
      for n = 1, 12 do
        local value = assert(store:get "k")
        local task = koine.spawn(function() return store:put("k", "value " .. n) end)
        stop_at(n, function()
          koine.spawn(function() cuts = cuts + (task:cancel() and 1 or 0) end)
        end)
        task:wait()
        local got, version = store:get "k"
        assert.is_truthy(got == value or got == "value " .. n, tostring(got or version))
        assert.are.same({ {} }, { store:list "other" })
        assert.is_true(store:release("k", "me"))
        assert(store:put("k", "after " .. n, { if_version = version }))
        assert.are.equal("after " .. n, (store:get "k"))
      end
    end)
    return cuts
  end

  it("waits for the reply of a query that was cancelled, and gives it to nobody else", function()
    local side = wire()
    local store <close> = koine.store.sql { dialect = "sqlite", query = function(sql) return side:query(sql) end }
    assert(store:put("k", "first"))
    assert.is_true(cut(store, function(n, cancel)
      local from
      side.stop = function(now)
        from = from or now
        if now == from + n - 1 then cancel() end
      end
    end) > 4)
    side.close()
  end)

  it("closes a connection whose operation was cancelled, and connects anew", function()
    local sides, stop = {}, nil
    local store <close> = koine.store.sql { dialect = "sqlite", connect = function()
      sides[#sides + 1] = wire()
      local from
      sides[#sides].stop = function(now)
        from = from or now
        if stop then stop(now) end
      end
      return sides[#sides]
    end }
    assert(store:put("k", "first"))
    local cuts = cut(store, function(n, cancel)
      local from
      stop = function(now)
        from = from or now
        if now == from + n - 1 then
          stop = nil
          cancel()
        end
      end
    end)
    assert.is_true(cuts > 4)
    assert.are.equal(cuts + 1, #sides)
    for i = 1, cuts do assert.is_true(sides[i].closed) end
    assert.is_nil(sides[#sides].closed)
  end)

  it("refuses a query that ended without its reply, from then on", function()
    local cancelled = koine.errors.new { kind = "cancelled", message = "cancelled" }
    for _, ending in ipairs { function() return nil, cancelled end, function() error "torn" end } do
      local side, ends = wire(), nil
      local store <close> = koine.store.sql { dialect = "sqlite", query = function(sql)
        if ends and sql:find "^UPDATE" then return ends() end
        return side:query(sql)
      end }
      assert(store:put("k", "v"))
      ends = ending
      pcall(store.put, store, "k", "w")
      ends = nil
      for _ = 1, 2 do
        local value, err = store:get "k"
        assert.is_nil(value)
        assert.are.same({ "connect", "cut_short", false }, { err.kind, err.code, err.retryable })
      end
      side.close()
    end
  end)

  it("refuses a query whose run ended in the middle of a reply", function()
    local side = wire()
    local store <close> = koine.store.sql { dialect = "sqlite", query = function(sql) return side:query(sql) end }
    assert(store:put("k", "v"))
    side.stop = function() koine.sleep(60) end
    pcall(koine.run, function()
      koine.spawn(function() store:get "k" end)
      koine.sleep(0.01)
      error "the end"
    end)
    side.stop = function() end
    assert.are.equal("cut_short", select(2, store:get "k").code)
    side.close()
  end)

  it("closes a connection that could not be prepared, or belongs to a store that was closed meanwhile", function()
    local closed = 0
    local function conn(answer)
      return { close = function() closed = closed + 1 end, query = answer }
    end
    local store = koine.store.sql { dialect = "sqlite", connect = function()
      return conn(function() return nil, "disk I/O error" end)
    end }
    assert.is_nil((store:get "k"))
    assert.are.equal(1, closed)
    koine.run(function()
      store = koine.store.sql { dialect = "sqlite", connect = function()
        koine.sleep(0.01)
        return conn(function() return {} end)
      end }
      local task = koine.spawn(function() return store:get "k" end)
      koine.sleep(0)
      store:close()
      local _, err = task:wait()
      assert.are.equal("closed", err.code)
    end)
    assert.are.equal(2, closed)
  end)

  it("says closed where a driver raises for a connection that its store has closed", function()
    for _, method in ipairs { "get", "list", "put" } do
      koine.run(function()
        local open = true
        local store = koine.store.sql { dialect = "sqlite", connect = function()
          return { close = function() open = false end, query = function(_, sql)
            if sql:find "^PRAGMA" then return {} end
            while open do koine.sleep(0.001) end
            error "calling 'execute' on bad self"
          end }
        end }
        local task = koine.spawn(store[method], store, "k", method == "put" and "v" or nil)
        koine.sleep(0)
        store:close()
        local _, err = task:wait()
        assert.are.equal("closed", err.code)
      end)
    end
  end)
end)
