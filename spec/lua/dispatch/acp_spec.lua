-- Targets of dispatchers that are agents of other programs: one session for each thread, a bounded pool, ids that are
-- kept, cancelling and resetting.

local kit = require "spec.lua.protocol.acp.kit"
local koine = require "koine"
local process_kit = require "spec.lua.system.process_kit"

local raises = process_kit.raises

local AGENT = [[
agent.init.agentCapabilities = { sessionCapabilities = { resume = RESUME } }
agent.on["session/resume"] = function() return {} end
local new, name = agent.on["session/new"], random_name()
agent.on["session/new"] = function(params)
  local reply = new(params)
  reply.sessionId = "id-" .. name
  return reply
end
prompt(function(words, id, params)
  if words == "wait" then text(id, "waiting") until_cancelled(id) return "cancelled" end
  if words == "die" then os.exit(1) end
  local all = {}
  for i, block in ipairs(params.prompt) do all[i] = block.text end
  text(id, id .. ": " .. table.concat(all, "|"))
  return "end_turn"
end)]]

describe("a target of agents of other programs", function()
  local bench, target

  before_each(function() bench = kit.bench() end)
  after_each(function()
    if target then target:close() end
    target = nil
    bench:close()
  end)

  local function open(given, resume)
    target = koine.dispatcher.acp(bench:options("local RESUME = " .. (resume or "{}") .. "\n" .. AGENT, given))
    return target
  end

  -- Waits until the agents heard that many prompts.
  local function await_prompts(n)
    local latest = os.time() + kit.SAFETY
    while #bench:heard "session/prompt" < n do
      assert(os.time() < latest, "no prompt came")
      koine.sleep(0.001)
    end
  end

  local function say(key, words)
    local ok, err = target:ensure_session(key, {})
    if not ok then return nil, err end
    return target:run_turn(key, { koine.text { text = words }, koine.text { text = "b" } }, {})
  end

  it("gives each thread its own session, and blocks in their order", function()
    open()
    local one, two = say("a", "x").text, say("b", "x").text
    assert.is_truthy(one:find(": x|b", 1, true))
    assert.are_not.equal(one, two)
    assert.equal(one, say("a", "x").text)
    assert.equal(2, #bench:heard "initialize")
  end)

  for _, how in ipairs { "reset", "close" } do
    it("ends a session that begins when " .. how .. " comes", function()
      local function finish() target[how](target, "a") end
      for _, when in ipairs { "cwd", "on_elicit" } do
        target = koine.dispatcher.acp(bench:options("local ELICIT = " .. tostring(when == "on_elicit") .. [[
          local new = agent.on["session/new"]
          agent.on["session/new"] = function(params)
            if ELICIT then ask("elicitation/create", { sessionId = "s", mode = "form", message = "m" }) end
            return new(params)
          end]], { cwd = function()
            if when == "cwd" then finish() end
            return bench.dir
          end, on_elicit = when == "on_elicit" and function() finish() end or nil,
          file = bench.dir .. "/ids" .. when }))
        local result, err = target:run_turn("a", "x", {})
        assert.same({ "nil", "cancelled" }, { tostring(result), err and err.kind })
        assert.same({ nil, 0 }, { target.ids.map.a, target.count })
        target:close()
        assert.equal(0, process_kit.supervisors())
      end
    end)
  end

  it("plays the turns of a dispatcher", function()
    local done = {}
    local d = koine.dispatcher { target = open(), mode = "per-thread",
      on_done = function(_, thread, result) done[thread.thread_id] = result.text end }
    for _, id in ipairs { "1", "2", "1" } do
      d:submit({ platform = "p", thread_id = id }, { sender_json = "{}", prompt = "hello" })
    end
    while d:step() do end -- luacheck: ignore
    assert.is_truthy(done["1"]:find "hello.*hello" and done["2"]:find "hello")
    assert.equal(2, #bench:heard "session/prompt")
  end)

  it("takes idle sessions away where the pool is full, and takes them up again", function()
    open { max_sessions = 1 }
    local first = say("a", "x").text
    say("b", "x")
    local again = say("a", "x")
    assert.equal(first, again.text)
    assert.is_nil(again.session_reset)
    assert.equal(2, #bench:heard "session/resume" + #bench:heard "session/new" - 1)
  end)

  it("is full where all are at work", function()
    open { max_sessions = 1 }
    koine.run(function()
      local task = koine.spawn(function() return select(2, say("a", "wait")) end)
      await_prompts(1)
      local _, err = say("b", "x")
      assert.same({ "limit", "sessions" }, { err.kind, err.code })
      target:cancel "a"
      assert.equal("cancelled", task:wait().kind)
    end)
    assert.is_truthy(say("b", "x"))
  end)

  it("ends what is idle for too long", function()
    open { ttl = 0.01 }
    local first = say("a", "x").text
    koine.sleep(0.02)
    say("b", "x")
    assert.is_nil(target.entries.a)
    assert.equal(first, say("a", "x").text)
  end)

  it("makes one session of two first messages", function()
    open()
    koine.run(function()
      koine.gather(function() assert(say("a", "x")) end, function() assert(say("a", "y")) end)
    end)
    assert.equal(1, #bench:heard "session/new")
  end)

  it("says once that a session was lost", function()
    open(nil, "null")
    say("a", "x")
    assert.equal("connect", select(2, say("a", "die")).kind)
    assert.is_true(say("a", "x").session_reset)
    assert.is_nil(say("a", "x").session_reset)
  end)

  it("warns where the id of a new session cannot be kept", function()
    local is_away = false
    local store = setmetatable({}, { __index = koine.store.memory {} })
    function store:put(...)
      if is_away then return nil, koine.errors.new { kind = "connect", message = "the store is away" } end
      return getmetatable(self).__index:put(...)
    end
    function store:get(...) return getmetatable(self).__index:get(...) end
    open({ store = store }, "null")
    say("a", "x")
    is_away = true
    say("a", "die")
    local result = say("a", "x")
    assert.is_true(result.session_reset)
    assert.equal("session_id", result.warnings[1].code)
    assert.is_truthy(result.warnings[1].message:find("the store is away", 1, true))
  end)

  for _, where in ipairs { "file", "store" } do
    it("keeps ids in a " .. where .. ", beyond the process", function()
      local given = where == "file" and { file = bench.dir .. "/ids" } or { store = koine.store.memory {} }
      open(given)
      local first = say("a", "x").text
      target:close()
      open(given)
      assert.equal(first, say("a", "x").text)
      target:reset "a"
      assert.are_not.equal(first, say("a", "x").text)
      target:close()
      open(given)
      assert.are_not.equal(first, say("a", "x").text)
    end)
  end

  it("forgets an id once its file can be written again, and takes none up before", function()
    local path = bench.dir .. "/ids"
    open { file = path }
    local first, other = say("a", "x").text, say("b", "x").text
    assert(os.rename(path, path .. ".old"))
    assert(os.execute(("mkdir -p %s/full"):format(path))) -- no file can take this place
    target:reset "a"
    target:reset "c"
    local _, err = target.ids:get "b"
    assert.is_truthy(err and err.message:find(path, 1, true), err)
    assert(os.execute(("rmdir %s/full %s"):format(path, path)))
    assert(os.rename(path .. ".old", path))
    target:close()
    open { file = path }
    assert.are_not.equal(first, say("a", "x").text)
    assert.are.equal(other, say("b", "x").text)
  end)

  it("is reset in a turn, which is cancelled and returns first", function()
    open()
    local first = say("a", "x").text
    koine.run(function()
      local task = koine.spawn(function() return select(2, say("a", "wait")) end)
      await_prompts(2)
      target:reset "a"
      assert.equal("cancelled", task:wait().kind)
    end)
    assert.are_not.equal(first, say("a", "x").text)
    assert.same({}, target.dead)
  end)

  it("has one turn at a time for each thread, under random cancels and resets", function()
    open { max_sessions = 3 }
    local running, seed = {}, 7
    local function random(n)
      seed = (seed * 1103515245 + 12345) % 2147483648
      return seed // 65536 % n + 1
    end
    local inner = target.run_turn
    local watched = { ensure_session = function(_, ...) return target:ensure_session(...) end,
      cancel = function(_, key) target:cancel(key) end, reset = function(_, key) target:reset(key) end,
      run_turn = function(_, key, ...)
        assert(not running[key], "two turns of a thread")
        running[key] = true
        local result, err = inner(target, key, ...)
        running[key] = nil
        return result, err
      end }
    local ended = 0
    local function count() ended = ended + 1 end
    local d = koine.dispatcher { target = watched, mode = "per-message", on_done = count, on_error = count }
    koine.run(function()
      local driving = koine.spawn(d.run, d)
      for i = 1, 30 do
        local thread = { platform = "p", thread_id = tostring(random(3)) }
        d:submit(thread, { sender_json = "{}", prompt = "m" .. i })
        koine.sleep(random(3) / 1000)
        if random(4) == 1 then d:cancel_turn(thread) end
        if random(8) == 1 then d:reset(thread) end
      end
      while d:stats().turns > 0 or d:stats().queued > 0 do koine.sleep(0.005) end
      d:shutdown()
      driving:wait()
    end)
    assert.is_true(ended > 10)
    assert.equal(0, d:stats().hook_errors)
  end)

  it("tells permissions and updates by thread", function()
    local keys = {}
    target = koine.dispatcher.acp(bench:options(kit.OPTIONS .. [[prompt(function(_, id)
      ask("session/request_permission", { sessionId = id, toolCall = { toolCallId = "t" }, options = OPTIONS })
      return "end_turn" end)]], { permission = function(request)
      keys[#keys + 1] = request.key
    end, cwd = function(key) return key == "a" and bench.dir or nil end }))
    assert(say("a", "x"))
    assert.same({ "a" }, keys)
    assert.is_truthy(select(2, say("b", "x")).message:find("no directory", 1, true))
  end)

  it("checks its options", function()
    raises("cwd", function() koine.dispatcher.acp { command = "x" } end)
    raises("command", function() koine.dispatcher.acp { cwd = "/" } end)
    raises("max_sessions", function() koine.dispatcher.acp { command = "x", cwd = "/", max_sessions = 0 } end)
    raises("file", function()
      koine.dispatcher.acp { command = "x", cwd = "/", file = "a", store = koine.store.memory {} }
    end)
  end)
end)
