-- Stores whose server counts the time: a client whose clock is an hour off has the same leases, claims, buckets and
-- values as all others. Its clock is set by a library that is loaded before the C library.

local folder = require "spec.support.folder"
local koine = require "koine"
local postgres = require "spec.lua.store.sql.postgres"
local redis = require "spec.lua.store.redis.server"

local LIBRARY = [[
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long off(void) { const char *s = getenv("CLOCK_OFF"); return s == NULL ? 0 : atol(s); }
int clock_gettime(clockid_t id, struct timespec *t) {
  int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int r = real(id, t);
  if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) t->tv_sec += off();
  return r;
}
int gettimeofday(struct timeval *t, void *zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t != NULL) *t = now.tv_sec;
  return now.tv_sec;
}
]]

-- What the client does; it prints what came of it.
local CLIENT = [[
local store = assert(load(%q))()
local words = { math.floor((require "koine.core".wall() - %f) / 600 + 0.5) } -- of ten minutes that its clock is off
local function say(...)
  local got, more = ...
  assert(got ~= nil or more == nil, tostring(more))
  words[#words + 1] = tostring(got)
end
say(store:lease("held", "client", 60))
say(store:claim("client", 60))
say((store:get "short-lived"))
say(store:take("empty", 1, { capacity = 10, per = 0.01 }) > 0)
say(store:lease("brief", "client", 0.3) and "granted")
say(store:put("gone", "x", { ttl = 0.3 }) and "put")
print(table.concat(words, " "))
]]

-- AddressSanitizer asks for the time before this library can be loaded.
local SANITIZED = (os.getenv "LD_PRELOAD" or ""):find("libasan", 1, true) ~= nil

describe("a client whose clock is an hour off", function()
  local dir, library
  setup(function()
    dir = folder.new()
    library = dir .. "/clock.so"
    local source <close> = assert(io.open(dir .. "/clock.c", "w"))
    source:write(LIBRARY)
    source:flush()
    if not os.execute(("cc -shared -fPIC -o %s %s/clock.c -ldl >/dev/null 2>&1"):format(library, dir)) then
      library = nil
    end
  end)
  teardown(function() folder.remove(dir) end)

  local function client(code, off)
    local paths = ("package.path, package.cpath = %q, %q\n"):format(package.path, package.cpath)
    local program <close> = assert(io.open(dir .. "/client.lua", "w"))
    program:write(paths, CLIENT:format(code, require "koine.core".wall()))
    program:flush()
    local command = ('CLOCK_OFF=%d LD_PRELOAD="$LD_PRELOAD:%s" %s %s/client.lua 2>&1'):format(off, library,
      os.getenv "KOINE_LUA" or "lua5.4", dir)
    local pipe <close> = assert(io.popen(command))
    return pipe:read "a"
  end

  -- `code`: Lua that opens the store.
  local function check(code)
    if SANITIZED or not library then
      return pending "there is no cc, or no library may be loaded before the C library"
    end
    for _, off in ipairs { 3600, -3600 } do
      local store <close> = assert(load(code))()
      for _, key in ipairs { "gone", "short-lived" } do assert(store:delete(key)) end
      assert(store:lease("held", "me", 60))
      assert(store:push("q", "item"))
      local queue, fence, items = assert(store:claim("me", 60))
      assert(store:put("short-lived", "there", { ttl = 60 }))
      assert.are.equal(0, store:take("empty", 10, { capacity = 10, per = 0.01, force = true }))
      assert.are.equal(("%d false nil there true granted put\n"):format(off // 600), client(code, off))
      koine.sleep(0.4)
      assert.is_truthy(store:lease("brief", "me", 0.01))
      assert.is_nil((store:get "gone"))
      assert(store:ack(queue, "me", fence, items[1].seq))
      assert(store:unclaim(queue, "me", fence))
      koine.sleep(0.02)
    end
  end

  it("has all of that on Redis", function()
    if redis.missing then return pending(redis.missing) end
    local server = redis.start()
    finally(function() server:stop() end)
    check(("return require('koine').store.redis { url = %q }"):format(server.url))
  end)

  it("has all of that on PostgreSQL", function()
    if postgres.missing then return pending(postgres.missing) end
    local server = postgres.start()
    finally(function() server:stop() end)
    check(("return require('koine').store.sql { dialect = 'postgres', blocking = true, connect = %q }")
      :format(server:source()))
  end)
end)
