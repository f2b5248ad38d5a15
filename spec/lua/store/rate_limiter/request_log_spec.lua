-- The log of a limiter's file: what is remembered of it says the same as reading all of it, whoever wrote meanwhile.

local core = require "koine.core"
local generator = require "spec.support.generator"
local request_log = require "koine.store.request_log"

local SEEDS, STEPS = 200, 40
local START = 1764000000 -- Unix seconds

-- The plain way ------------------------------------------------------------------------------------------------------

local plain = {}

local function is_time(value) return type(value) == "number" and value == value and math.abs(value) < math.huge end

function plain.read(text)
  local value = core.decode(text)
  if type(value) ~= "table" or type(value.request_log) ~= "table" then return { log = {} } end
  local last, log = value.last_request_at, {}
  if last == core.null then last = nil end
  if last ~= nil and not is_time(last) then return { log = {} } end
  for i, time in ipairs(value.request_log) do
    if not is_time(time) then return { log = {} } end
    log[i] = time
  end
  table.sort(log)
  return { last = last, log = log }
end

function plain.write(state)
  local log = {}
  for i, time in ipairs(state.log) do log[i] = core.encode(time) end
  return ('{"last_request_at":%s,"request_log":[%s]}'):format(state.last and core.encode(state.last) or "null",
    table.concat(log, ","))
end

function plain.settle(state, time)
  local late = false
  if state.last and state.last > time then state.last, late = time, true end
  for i, entry in ipairs(state.log) do
    if entry > time then state.log[i], late = time, true end
  end
  return late
end

local function recent(window, log, time)
  local kept = {}
  for _, entry in ipairs(log) do
    if entry > time - window.period then kept[#kept + 1] = entry end
  end
  return kept
end

function plain.full(state, window, time)
  local log = recent(window, state.log, time)
  local over = #log - window.requests
  return over >= 0 and log[over + 1] + window.period - time or 0
end

function plain.enter(state, window, time)
  state.last = time
  state.log = window and recent(window, state.log, time) or {}
  if window then state.log[#state.log + 1] = time end
end

-- What other programs leave ------------------------------------------------------------------------------------------

local STRANGE = { "", "{", "[]", "null", '{"last_request_at":null,"request_log":[]}', '{"request_log":[2,1]}',
  '{"last_request_at":"x","request_log":[1]}', '{"last_request_at":1,"request_log":[1,"2"]}',
  '{"last_request_at":[1,2],"request_log":[1]}', '{"last_request_at":5,"request_log":{"1":2}}' }

-- Changes to a text that leave some of it as it was.
local EDITS = {
  function(text) return text .. " " end,
  function(text) return (text:gsub(",", ", ")) end,
  function(text) return text:sub(1, -3) end,
  function(text) return text:sub(1, -3) .. ",]}" end,
  function(text) return text:sub(1, -3) .. ',1],"request_log":[3]}' end,
  function(text) return text:sub(1, -3) .. ',1.0]}' end,                          -- older than what is there
  function(text) return text:sub(1, -3) .. ',"x"]}' end,
  function(text) return text:sub(1, -3) .. ',9e9]}' end,                          -- not as it is written here
  function(text) return text:sub(1, -3) .. ',9000000000.0]}' end,
  function(text) return text:sub(1, -3) .. '1]}' end,                             -- the newest time has a digit more
  function(text) return text:sub(1, -3) .. ']],"request_log":[]}' end,
  function(text) return text:sub(1, -3) .. '],"last_request_at":[]}' end,
  function(text) return (text:gsub('at":[^,]*', 'at":null')) end,
  function(text) return (text:gsub('at":[^,]*', 'at":1e999')) end,
  function(text) return (text:gsub("%[[^,]*,", "[", 1)) end,                      -- without its oldest time
  function(text) return (text:gsub("%[[^,%]]*,[^,%]]*,", "[", 1)) end,
  function(text) return (text:gsub("%d(%.%d+%])", "0%1")) end,                    -- another newest time
  function(text) return (text:gsub("(%d)(%.%d)", "%12%2", 1)) end,
  function(text) return (text:gsub('log":%[', 'log":[0', 1)) end,                 -- no JSON
  function(text) return (text:gsub("%[([^,%]]*)", "[%1,%1", 1)) end,              -- its oldest time twice
}

describe("koine.store.request_log", function()
  it("says what reading all of the file says, at random", function()
    local followed = 0
    for seed = 1, SEEDS do
      local pick = generator(seed)
      local window = { requests = pick(8), period = pick(20) / 4 }
      local text, time, known = "", START + 0.25, nil
      for n = 1, STEPS do
        local at = ("seed %d, step %d: %s"):format(seed, n, text)
        time = time + (pick(12) == 1 and -pick(30) or pick(8) - 1) / 10000 * 10 ^ pick(4)
        local used = pick(10) > 1 and window or nil
        local chance = pick(20)
        if chance == 1 then text = STRANGE[pick(#STRANGE)] end
        if chance == 2 or chance == 3 then text = EDITS[pick(#EDITS)](text) end
        if chance > 3 and chance < 8 then -- another process, which knows nothing
          local other = plain.read(text)
          plain.settle(other, time)
          plain.enter(other, window, time)
          text = plain.write(other)
        end
        local was, state = known, plain.read(text)
        local read = request_log.read(text, known)
        followed = followed + (was and read == was and 1 or 0)
        assert.are.equal(plain.write(state), read:write(), at)
        local log, late = read:settle(time)
        assert.are.equal(plain.settle(state, time), late, at)
        assert.are.equal(plain.write(state), log:write(), at)
        local seconds = plain.full(state, window, time)
        assert.are.equal(seconds, log:full(window, time), at)
        if seconds <= 0 or pick(4) == 1 then
          plain.enter(state, used, time)
          log:enter(used, time)
          assert.are.equal(plain.write(state), log:write(), at)
          if pick(8) > 1 then text = log:write() end -- else the file could not be written
        elseif late then
          text = log:write()
        end
        known = pick(10) > 1 and log or nil
      end
    end
    assert.is_true(followed > SEEDS * STEPS / 4, "followed " .. followed)
  end)
end)
