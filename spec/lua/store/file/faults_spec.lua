-- The store in files when its process is killed at a system call, or a system call fails: strace makes that. A few
-- calls of each kind, or with the environment variable KOINE_STORE_FAULTS all of them.

local folder = require "spec.support.folder"
local koine = require "koine"

local CALLS = { "pwrite64", "fsync", "fdatasync", "rename", "unlink", "linkat", "flock", "fchmod" }
local FAULTS = { "signal=SIGKILL", "error=ENOSPC", "error=EIO" }
local FEW = { 4 }  -- of each kind of call
local MOST = 60    -- calls of one kind

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

describe("koine.store.file", function()
  local dir
  before_each(function() dir = folder.in_memory() end)
  after_each(function() folder.remove(dir) end)

  -- Runs steps.lua with the fault at the n-th call: how many steps returned, and whether the fault happened. nil:
  -- strace does not work here.
  local function run(home, call, fault, n)
    local code = ("package.path, package.cpath = %q, %q "):format(package.path, package.cpath)
    local trace = home .. ".trace"
    local program = ("%s -e %s spec/lua/store/kit/steps.lua %s"):format(os.getenv "KOINE_LUA" or "lua5.4", quoted(code),
      quoted(home))
    local handle = io.popen(("strace -o %s -e trace=%s -e inject=%s:%s:when=%d %s 2>&1"):format(quoted(trace), call,
      call, fault, n, program))
    local said = handle:read "a"
    handle:close()
    local file = io.open(trace)
    if not file then return nil end
    local traced = file:read "a"
    file:close()
    local last = 0
    for line in said:gmatch "[^\n]+" do last = math.tointeger(tonumber(line)) or last end
    return last, traced:find("INJECTED", 1, true) ~= nil or traced:find("killed by SIGKILL", 1, true) ~= nil
  end

  -- Fails unless the store has what the first `done` steps did, and what others did as a whole or not at all.
  local function verify(home, done, what)
    local store = assert(koine.store.file { dir = home })
    local function holds(claim, words) assert.is_truthy(claim, ("%s, %d steps: %s"):format(what, done, words)) end
    local value, other = store:get "k", store:get "j"
    holds(done >= 2 and value == "two" or done == 1 and (value == "one" or value == "two") or done == 0 and
      (value == nil or value == "one"), "value " .. tostring(value))
    holds(done >= 4 and other == nil or done == 3 or done <= 2 and (other == nil or other == "x"), "other value")
    holds(done < 5 or store:lease("l", "other", 1) == false, "the lease is lost")
    koine.sleep(0.012) -- the claim of steps.lua is over then
    local queue, fence, items = store:claim("v", 10)
    holds(queue or done < 6 and fence == nil, "no queue")
    if queue then
      holds(items[1].item == "a" and done < 9 or items[1].item == "b" and done >= 8, "first item " .. items[1].item)
      holds(done < 7 or items[#items].item == "b", "the last item is lost")
      assert(store:ack(queue, "v", fence, items[#items].seq))
      assert(store:unclaim(queue, "v", fence))
      holds(store:push("q", "a", { id = "m" }) and not store:claim("v", 10), "the id is forgotten")
    end
    assert(store:put("z", "z"))
    store:close()
  end

  for _, call in ipairs(CALLS) do
    it("keeps its promises where " .. call .. " fails, or is the last call of a process", function()
      local count = 0
      for _, fault in ipairs(FAULTS) do
        local skipped = fault:find "^error" and (call == "unlink" or call == "flock")
        for i = 1, skipped and 0 or os.getenv "KOINE_STORE_FAULTS" and MOST or #FEW do
          local n = os.getenv "KOINE_STORE_FAULTS" and i or FEW[i]
          count = count + 1
          local home = ("%s/%d"):format(dir, count)
          local done, happened = run(home, call, fault, n)
          if not done or done == 0 and not happened then
            pending "strace cannot trace here"
            return
          end
          if not happened then break end
          verify(home, done, ("%s of call %d of %s"):format(fault, n, call))
        end
      end
    end)
  end
end)
