-- Agents whose conversation was changed at random: every call ends with a result or an error that says what it is.
-- KOINE_SEEDS says how many of them (48).

local folder = require "spec.support.folder"
local kit = require "spec.lua.protocol.acp.kit"
local koine = require "koine"
local mutator = require "spec.lua.protocol.acp.client.mutator"
local process_kit = require "spec.lua.system.process_kit"

local LUA = arg and arg[-1] or "lua5.4"
local SEEDS = math.tointeger(tonumber(os.getenv "KOINE_SEEDS")) or 48
local AT_ONCE = 12
local KINDS = { auth = true, cancelled = true, connect = true, invalid_request = true, limit = true, not_found = true,
  other = true, protocol = true, server = true, timeout = true }
local WAYS = { "new", "load", "take_up" }

describe("a client of agents that say anything", function()
  local dir, executor, completed

  setup(function()
    dir, completed = folder.new(), 0
    executor = assert(koine.executor { workdir = dir })
  end)

  teardown(function()
    executor:close()
    folder.remove(dir)
  end)

  -- What a call returned is a result, or a proper error.
  local function check(result, err)
    if result then return result end
    assert.is_true(koine.errors.is_error(err), tostring(err))
    assert.is_true(KINDS[err.kind], err.kind)
    assert.is_true(#tostring(err) <= 800, tostring(err))
    assert.is_nil(tostring(err):find("sk-0123456789abcdef", 1, true))
  end

  local function check_event(event)
    assert.is_string(event.kind)
    local field = event.kind == "tool_call" and "tool_input" or "content"
    assert.is_string(event[field])
  end

  -- Permits the first option.
  local function first(request) return request.options[1] and request.options[1].id end

  -- Talks with the agent of a seed, by every call.
  local function talk(seed, path)
    local environment = kit.environment()
    environment.API_KEY = "sk-0123456789abcdef"
    local connection <close> = check(koine.acp.connect { command = LUA,
      args = { "spec/lua/protocol/acp/client/player.lua", path }, env = environment, executor = executor, grace = 0.05,
      on_elicit = function() return "decline" end, on_update = function() end,
      permission = seed % 2 == 0 and "allow" or first,
      timeout = { start = 0.3, session = 0.3, idle = 0.3, permission = 0.2, stop = 0.1 } })
    if not connection then return end
    check(connection:list())
    local way = WAYS[seed % 3 + 1]
    local session <close> = check(connection[way](connection, way ~= "new" and "s1" or nil))
    if not session then return end
    check(session:set("model", "b"))
    if check(session:prompt("go", { on_event = check_event })) then completed = completed + 1 end
    check(session:prompt "again")
  end

  it("ends every call with a result or an error of a kind", function()
    local seed = 0
    local function some()
      while seed < SEEDS do
        seed = seed + 1
        local mine, path = seed, ("%s/plan-%d.lua"):format(dir, seed)
        local file <close> = assert(io.open(path, "w"))
        file:write(mutator.source(mutator.plan(mine)))
        file:flush()
        local ok, err = pcall(talk, mine, path)
        assert.is_true(ok, ("seed %d: %s"):format(mine, tostring(err)))
      end
    end
    local tasks = {}
    for i = 1, AT_ONCE do tasks[i] = some end
    koine.run(function() koine.gather(tasks) end)
    assert.is_true(completed > SEEDS // 2, "most conversations come to an end, not " .. completed)
    assert.equal(0, process_kit.supervisors())
  end)
end)
