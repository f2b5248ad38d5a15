-- The engine on Redis against a server that answers as it is told: what is sent, what errors mean, when it is sent
-- again.

local fake = require "spec.lua.store.redis.fake"
local koine = require "koine"
local raised = require "spec.support.raised"
local wait = require "koine.task.wait"

-- Calls of each operation, right ones; `again`: may be sent once more where the connection fails.
local CALLS = {
  { "get", { "k" }, again = true }, { "put", { "k", "v" } },
  { "put", { "k", "v", { if_version = "1" } }, again = true },
  { "put", { "k", "v", { fence = { "l", 1 } } }, again = true }, { "delete", { "k" } },
  { "delete", { "k", { if_version = "1" } }, again = true }, { "list", { "" }, again = true },
  { "lease", { "k", "o", 1 } }, { "release", { "k", "o" } }, { "take", { "k", 1, { capacity = 1, per = 1 } } },
  { "push", { "q", "i" } }, { "push", { "q", "i", { id = "m" } }, again = true }, { "claim", { "o", 1 } },
  { "ack", { "q", "o", 1, 1 }, again = true }, { "unclaim", { "q", "o", 1 }, again = true },
}

-- Replies that are right for an operation, of those that "odd replies" tries.
local FITTING = { get = { ["*0\r\n"] = true, ["*2\r\n$1\r\nx\r\n$1\r\ny\r\n"] = true }, delete = { [":1\r\n"] = true },
  list = { ["*0\r\n"] = true, ["*2\r\n$1\r\nx\r\n$1\r\ny\r\n"] = true }, release = { [":1\r\n"] = true },
  claim = { ["*0\r\n"] = true }, ack = { [":1\r\n"] = true }, unclaim = { [":1\r\n"] = true } }

local function ask(store, case) return store[case[1]](store, table.unpack(case[2])) end

-- Answers scripts with these replies in turn, the last one from then on; nil closes.
local function replies(...)
  local list, n = table.pack(...), 0
  return function(command)
    if command[1] ~= "EVALSHA" then return false end
    n = math.min(n + 1, list.n)
    return list[n]
  end
end

describe("the engine on Redis", function()
  it("makes itself known, one command after the other, before it sends anything else", function()
    local log = fake.run(replies "*0\r\n", function(store) assert.is_nil((store:get "k")) end,
      { url = "redis://me:my%20secret@127.0.0.1:PORT/3" })
    assert.are.same({ "AUTH", "me", "my secret" }, table.move(log[1], 1, 3, 1, {}))
    assert.are.same({ "SELECT", "3" }, table.move(log[2], 1, 2, 1, {}))
    assert.are.equal("SCRIPT", log[3][1])
    assert.are.same({ "EVALSHA", ("0"):rep(40), "1", "{koine:}", "k" }, table.move(log[4], 1, 5, 1, {}))
    log = fake.run(replies "*0\r\n", function(store) store:get "k" end, { password = "only a secret", db = 0 })
    assert.are.same({ "AUTH", "only a secret" }, table.move(log[1], 1, 2, 1, {}))
    assert.are.same({ "SELECT", "0" }, table.move(log[2], 1, 2, 1, {}))
  end)

  it("uses no connection that was not let in, and shows no password", function()
    for _, case in ipairs { { "-WRONGPASS invalid username-password pair or user is disabled.\r\n", "auth" },
      { "-ERR invalid password\r\n", "auth" }, { "-ERR DB index is out of range\r\n", "other" },
      { "-NOAUTH my-secret-word is wrong\r\n", "auth" } } do
      local log = fake.run(function() return case[1] end, function(store)
        local value, err = store:get "k"
        assert.is_nil(value)
        assert.are.equal(case[2], err.kind)
        assert.is_nil(tostring(err):find "secret%-word")
      end, { url = "redis://:my-secret-word@127.0.0.1:PORT/1" })
      assert.are.equal(1, #log)
    end
  end)

  it("shows no password that a server repeats, wherever that is in its answer", function()
    for _, reply in ipairs { "-SECRETWORD no", "-ERR SECRETWORD", "-MOVED 1 SECRETWORD:1", "-WRONGTYPE SECRETWORD",
      "-SECRETWORD_MORE" } do
      fake.run(replies(reply .. "\r\n"), function(store)
        local _, err = store:get "k"
        for name, value in pairs(err) do
          assert.is_nil(tostring(value):find "SECRETWORD", ("%s of %q: %s"):format(name, reply, tostring(value)))
        end
        assert.is_nil(tostring(err):find "SECRETWORD")
      end, { password = "SECRETWORD" })
    end
    fake.run(function(command)
      if command[1] == "INFO" then return "$24\r\nredis_version:SECRETWORD\r\n" end
      return command[1] == "CONFIG" and "*2\r\n+x\r\n+SECRETWORD\r\n"
    end, function(store)
      local about, err = store:describe()
      assert(about, tostring(err))
      assert.is_nil((about.version .. table.concat(about.warnings)):find "SECRETWORD")
    end, { password = "SECRETWORD" })
  end)

  it("tells the server's errors apart", function()
    for reply, kind in pairs { ["-NOAUTH Authentication required."] = "auth", ["-NOPERM no"] = "permission",
      ["-OOM command not allowed when used memory > 'maxmemory'."] = "limit",
      ["-MISCONF Errors writing to the AOF file: No space left on device"] = "limit",
      ["-MOVED 866 127.0.0.1:7001"] = "other", ["-ASK 866 127.0.0.1:7001"] = "other",
      ["-CROSSSLOT Keys in request don't hash to the same slot"] = "other",
      ["-WRONGTYPE Operation against a key holding the wrong kind of value"] = "protocol",
      ["-ERR ACL failure in script: this user has no permissions"] = "permission",
      ["-ERR something else"] = "other" } do
      fake.run(replies(reply .. "\r\n"), function(store)
        for _, case in ipairs(CALLS) do
          local value, err = ask(store, case)
          assert.is_nil(value)
          assert.are.equal(kind, err.kind, reply)
          assert.are.equal(reply:match "^%-(%u+)", err.code)
          assert.is_not_nil(err.message:find("redis at 127.0.0.1:", 1, true))
          if kind == "other" and err.code ~= "ERR" then assert.is_not_nil(err.message:find "cluster") end
        end
      end)
    end
  end)

  it("asks a busy server again, with longer pauses, until its time is over", function()
    for _, code in ipairs { "LOADING", "BUSY", "TRYAGAIN", "READONLY", "MASTERDOWN" } do
      local busy = "-" .. code .. " later\r\n"
      local log = fake.run(replies(busy, busy, "*0\r\n"), function(store)
        local value, err = store:get "k"
        assert.is_nil(value)
        assert.is_nil(err)
      end)
      assert.are.equal(3, #fake.scripts(log))
    end
    local log = fake.run(replies "-LOADING later\r\n", function(store)
      local _, err = store:put("k", "v")
      assert.are.equal("overloaded", err.kind)
      assert.is_true(err.retryable)
    end, { timeout = 0.4 })
    local asked = #fake.scripts(log)
    assert.is_true(asked > 1 and asked <= 4, asked) -- at 0, 0.05, 0.15, 0.35 where nothing else takes time
  end)

  it("loads a script that the server has forgotten, and gives up where that does not help", function()
    local gone = "-NOSCRIPT No matching script. Please use EVAL.\r\n"
    local log = fake.run(replies(gone, "*0\r\n"), function(store) assert.is_nil(select(2, store:get "k")) end)
    local names = {}
    for i, command in ipairs(log) do names[i] = command[1] end
    assert.are.equal("SCRIPT EVALSHA SCRIPT EVALSHA", table.concat(names, " "))
    log = fake.run(replies(gone), function(store) assert.are.equal("other", select(2, store:get "k").kind) end)
    assert.are.equal(4, #fake.scripts(log))
  end)

  it("calls a script by the name that its own server gave it", function()
    local function named(letter)
      return function(command)
        return command[1] == "SCRIPT" and ("$40\r\n%s\r\n"):format(letter:rep(40)) or "*0\r\n"
      end
    end
    for _, letter in ipairs { "a", "b" } do
      local log = fake.run(named(letter), function(store)
        for _ = 1, 2 do assert.is_nil(select(2, store:get "k")) end
      end)
      assert.are.equal(3, #log)
      for i = 2, 3 do assert.are.same({ "EVALSHA", letter:rep(40) }, table.move(log[i], 1, 2, 1, {})) end
    end
    for _, name in ipairs { ":1\r\n", "$-1\r\n", "*0\r\n", "+OK\r\n", ("$40\r\n%s\r\n"):format(("z"):rep(40)) } do
      local log = fake.run(function() return name end, function(store)
        assert.are.equal("protocol", select(2, store:get "k").kind)
      end)
      assert.are.equal(1, #log)
    end
  end)

  it("sends once more what may be repeated when the connection ends under it, and nothing else", function()
    for _, case in ipairs(CALLS) do
      for _, ending in ipairs { "before a reply", "in a reply" } do
        local sent
        for _, timeout in ipairs(ending == "in a reply" and { 0.05, 0.5, 5 } or { 2 }) do
          local log = fake.run(replies(ending == "in a reply" and "$100\r\nhalf" or nil), function(store)
            local value, err = ask(store, case)
            assert.is_nil(value)
            assert.are.equal(ending == "in a reply" and "timeout" or "connect", err.kind)
          end, { timeout = timeout })
          sent = fake.scripts(log)
          if #sent > 0 then break end -- else the time was over before
        end
        assert.are.equal(ending == "in a reply" and 1 or case.again and 2 or 1, #sent, case[1])
        if sent[2] then assert.are.same(sent[1], sent[2]) end
      end
    end
  end)

  it("drops a connection that does not speak RESP, and says so", function()
    for _, bytes in ipairs { "HTTP/1.1 200 OK\r\n\r\n", "*1\r\n:x\r\n", "$-7\r\n", ":1\n", "$999999999\r\n" } do
      local log = fake.run(replies(bytes, "*0\r\n"), function(store)
        local value, err = store:get "k"
        assert.is_nil(value)
        assert.are.equal("protocol", err.kind)
        assert.is_nil(select(2, store:get "k"))
      end)
      assert.are.equal(2, log[#log].connection)
    end
  end)

  it("takes replies that a script of its own does not give for what they are", function()
    fake.run(replies "*2\r\n$-1\r\n$1\r\n1\r\n", function(store)
      assert.are.equal("protocol", select(2, store:get "k").kind)
    end)
    for _, reply in ipairs { "+OK\r\n", ":1\r\n", "$-1\r\n", "*0\r\n", "*1\r\n:1\r\n", "*2\r\n:1\r\n:1\r\n",
      "*2\r\n$1\r\nx\r\n$1\r\ny\r\n", "*3\r\n$1\r\nq\r\n$1\r\n1\r\n:1\r\n", "$1\r\nx\r\n" } do
      fake.run(replies(reply), function(store)
        for _, case in ipairs(CALLS) do
          local ok, err = pcall(ask, store, case)
          assert.is_true(ok, ("%s, %q: %s"):format(case[1], reply, tostring(err)))
          local fits = FITTING[case[1]]
          local _, failed = ask(store, case)
          if not fits or not fits[reply] then assert.are.equal("protocol", failed and failed.kind, case[1] .. reply) end
        end
      end)
    end
  end)

  it("drops a connection whose reply is none to what was asked, and nobody gets a later one", function()
    local wrong = ":7\r\n*2\r\n$5\r\nstray\r\n$1\r\n1\r\n"
    for _, case in ipairs(CALLS) do
      local log = fake.run(replies(wrong, "*0\r\n"), function(store)
        local _, err = ask(store, case)
        assert.are.same({ "protocol", "unexpected answer to " .. case[1] }, { err.kind, err.message:match ": (.*)" })
        assert.are.same({ n = 2 }, table.pack(store:get "k"))
      end)
      assert.are.equal(2, log[#log].connection, case[1])
    end
    local log = fake.run(function(command)
      return (command[1] == "INFO" or command[1] == "CONFIG") and ":1\r\n" or command[1] == "EVALSHA" and "*0\r\n"
    end, function(store)
      assert.are.equal("protocol", select(2, store:describe()).kind)
      assert.are.same({ n = 2 }, table.pack(store:get "k"))
    end)
    assert.are.equal(2, log[#log].connection)
  end)

  it("has those who share a connection that is dropped repeat what they may", function()
    local n, got = 0, {}
    local log = fake.run(function(command)
      if command[1] ~= "EVALSHA" then return false end
      n = n + 1
      if n == 1 then return "" end
      return n == 2 and ":7\r\n" or "*2\r\n$1\r\nv\r\n$1\r\n1\r\n"
    end, function(store)
      koine.gather(function() got[1] = select(2, store:get "a").kind end, function() got[2] = store:get "b" end)
    end, { pool = 1 })
    assert.are.same({ "protocol", "v" }, got)
    assert.are.equal(2, log[#log].connection)
  end)

  it("greets no server, and hears none, that answers something else", function()
    for _, reply in ipairs { ":1\r\n", "+QUEUED\r\n", "*0\r\n", "$-1\r\n" } do
      local log = fake.run(function() return reply end, function(store)
        assert.are.equal("protocol", select(2, store:get "k").kind)
      end, { password = "some password" })
      assert.are.equal(1, #log)
    end
    for _, reply in ipairs { ":1\r\n", "+OK\r\n", "*3\r\n$7\r\nmessage\r\n$1\r\nw\r\n:5\r\n", "*0\r\n" } do
      fake.run(function() return reply end, function(store)
        local ok, _, err = pcall(store.watch, store, "k", 1)
        assert.is_true(ok, reply)
        assert.are.equal("protocol", err and err.kind, reply)
        assert.is_nil(err.message:find("answer to nil", 1, true))
      end)
    end
  end)

  it("shares connections, each with its replies in order; one that dies takes its own commands along", function()
    local made, failed = {}, 0
    local log = fake.run(function(command)
      if command[1] ~= "EVALSHA" then return false end
      local key = command[5]
      if key == "k20" then return nil end
      return ("*2\r\n:1\r\n$%d\r\n%s\r\n"):format(#key, key)
    end, function(store)
      local tasks = {}
      for i = 1, 40 do
        tasks[i] = function()
          local version, err = store:put("k" .. i, "v")
          if version then
            assert.are.equal("k" .. i, version)
            made[version] = true
          else
            assert.are.equal("connect", err.kind)
            failed = failed + 1
          end
        end
      end
      koine.gather(table.unpack(tasks))
    end, { pool = 2 })
    local dead, heard = nil, 0
    for _, command in ipairs(log) do
      if command[1] == "EVALSHA" then
        heard = heard + 1
        if command[5] == "k20" then dead = command.connection else assert.is_true(made[command[5]]) end
      end
    end
    assert.are.equal(40, heard - 1 + failed)
    assert.is_true(failed > 1 and failed < 21)
    assert.is_true(dead == 1 or dead == 2)
  end)

  it("opens no more connections than it may", function()
    for _, most in ipairs { 1, 3 } do
      local log = fake.run(replies "*0\r\n", function(store)
        local tasks = {}
        for i = 1, 30 do tasks[i] = function() assert.is_nil(select(2, store:get "k")) end end
        koine.gather(table.unpack(tasks))
        koine.gather(table.unpack(tasks))
      end, { pool = most })
      local highest = 0
      for _, command in ipairs(log) do highest = math.max(highest, command.connection) end
      assert.are.equal(most, highest)
      assert.are.equal(60, #fake.scripts(log))
    end
  end)

  it("gives everybody his own reply, also when the one who reads for all is cancelled", function()
    fake.run(function(command)
      if command[1] ~= "EVALSHA" then return false end
      local key = command[5]
      if key == "slow" then return "" end
      return ("*2\r\n$4\r\nslow\r\n$1\r\n1\r\n*2\r\n$%d\r\n%s\r\n$1\r\n1\r\n"):format(#key, key)
    end, function(store)
      local first = koine.spawn(function() return store:get "slow" end)
      wait.sleep(0.02)
      local value
      local second = koine.spawn(function() value = store:get "second" end)
      first:cancel()
      second:wait()
      assert.are.equal("second", value)
    end, { pool = 1 })
  end)

  it("refuses wrong options, and never shows the URL", function()
    for _, case in ipairs { { "url", nil }, { "url", "http://x" }, { "url", "redis://" },
      { "url", "redis://a:b@c:99999" }, { "url", "redis://h:0" }, { "url", "redis://h/x" },
      { "url", "redis://h:1/0 " }, { "url", "unix://relative" },
      { "url", "unix:///a?db=x" }, { "url", "redis://u:secret-word@h:1/0?x" }, { "url", 5 }, { "prefix", "" },
      { "prefix", "a{b}" }, { "db", -1 }, { "timeout", 0 }, { "pool", 0 }, { "durable", "yes" }, { "password", 5 },
      { "on_warning", "x" }, { "pol", 1 } } do
      local options = { url = "redis://h" }
      options[case[1]] = case[2]
      local err = raised(koine.store.redis, options)
      assert.are.equal(case[1], err.field)
      assert.is_nil(err.message:find "secret")
    end
    for _, url in ipairs { "redis://h", "redis://h:1", "rediss://[::1]:7/2", "redis://:p@h/0", "redis://u:p%40@h",
      "unix:///tmp/s", "unix://u:p@/tmp/s?db=3" } do
      assert.is_table(koine.store.redis { url = url })
    end
  end)

  it("says what is wrong with a URL, but not what it holds", function()
    for url, got in pairs { ["127.0.0.1:6379"] = "no scheme, or another one",
      ["http://h"] = "no scheme, or another one",
      ["redis://h:1/0 "] = "one with a space or control character", ["redis://h:99999"] = "a port that is none",
      ["redis://h:99999999999999999999"] = "a port that is none",
      ["redis://h:hidden"] = "a host or port that is none", ["redis://u:p@h/hidden"] = "a database that is no number",
      ["redis://h:1?db=1"] = "a query or fragment", ["redis://h/1?hidden"] = "a query or fragment",
      ["redis://u:hid/den@h"] = "a name or password with / ? or # (%2F %3F %23 in a URL)",
      ["redis://u:hid#den@h"] = "a name or password with / ? or # (%2F %3F %23 in a URL)",
      ["unix://tmp/s"] = "a socket without its whole path", ["unix:///s?db=x"] = "a query that is not db=NUMBER" } do
      local err = raised(koine.store.redis, { url = url })
      assert.are.equal("url", err.field)
      assert.is_truthy(err.message:find("expected, got " .. got, 1, true), err.message)
      assert.is_nil(err.message:find "hid")
    end
  end)
end)
