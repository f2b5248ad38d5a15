-- Dovecot's auth-lua: a Lua state in each worker of its auth service, with an allocator of Dovecot's own.

local files = require "spec.support.files"
local host = require "spec.hosts.support.host"
local uv = require "luv"

local CONFIG = [[
base_dir = %s/run
state_dir = %s/state
log_path = %s/log
protocols =
ssl = no
import_environment = LUA_PATH LUA_CPATH KOINE_URL
passdb {
  driver = lua
  args = file=%s blocking=yes
}
userdb {
  driver = static
  args = uid=65534 gid=65534 home=/tmp
}
service auth-worker {
  user = root
}
]]

local TRIES_MAX = 100 -- of a login that finds no socket

describe("Dovecot", function()
  local bench = host.bench()

  local function log() return files.read(bench.place .. "/log") end

  local function listens() return uv.fs_access(bench.place .. "/run/auth-client", "W") end

  local function start()
    local place = bench.place
    files.write(place .. "/dovecot.conf", CONFIG:format(place, place, place, host.script "passdb.lua"))
    return host.start("dovecot", { args = { "-F", "-c", place .. "/dovecot.conf" },
      env = { KOINE_URL = bench.server.url }, ready = listens })
  end

  local function ask(login)
    return host.start("doveadm", { args = { "-c", bench.place .. "/dovecot.conf", "auth", "test", login[1],
      login[2] } })
  end

  -- Whether each user's password is right, asked at once. Dovecot makes its socket anew in a reload: who comes between
  -- asks again.
  local function logins(given)
    local tests, answers = {}, {}
    for i, login in ipairs(given) do tests[i] = ask(login) end
    for i, test in ipairs(tests) do
      local code, tries = test:wait(), 1
      while test.out:find("Error: auth-client: conn", 1, true) and tries < TRIES_MAX do
        host.await(listens)
        test, tries = ask(given[i]), tries + 1
        code = test:wait()
      end
      answers[i] = code == 0
    end
    return answers
  end

  local function assert_clean(program)
    local code, signal = program:stop()
    assert.are.equal(0, signal)
    assert.are.equal(0, code)
    for _, word in ipairs { "Fatal", "Panic", "killed with signal", "core dumped" } do
      assert.is_nil(log():find(word, 1, true), log())
    end
  end

  local function unfit()
    return uv.getuid() ~= 0 and "Dovecot starts as root only"
  end

  it("asks in its workers, several at once, also after a reload", function()
    if unfit() then return pending(unfit()) end
    assert(bench.server:script "echo")
    local program <close> = start()
    for _ = 1, 2 do
      local given, expected = {}, {}
      for i = 1, 6 do given[i], expected[i] = { "u" .. i, "You_said:_u" .. (i % 3 == 0 and 0 or i) }, i % 3 ~= 0 end
      assert.are.same(expected, logins(given))
      assert.are.equal(0, select(2, host.run("doveadm", { args = { "-c", bench.place .. "/dovecot.conf", "reload" } })))
    end
    assert_clean(program)
  end)

  it("refuses a login where the provider is silent, and goes on", function()
    if unfit() then return pending(unfit()) end
    assert(bench.server:script { host.LATE, { content = "secret" } })
    local program <close> = start()
    assert.are.same({ false }, logins { { "ada", "secret" } })
    assert.are.same({ true }, logins { { "ada", "secret" } })
    assert_clean(program)
  end)
end)
