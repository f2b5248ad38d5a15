-- Reads streams, requests, bodies or processes (arg[1]) while finalizers poll and close them: arg[2] is the provider's
-- URL, arg[3] how many times. A script of its own, because in a small heap the collector comes round often. Prints
-- whether any were closed and refused, and what went wrong.

local koine = require "koine"
local core = require "koine.core"

local what, url, rounds = arg[1], arg[2], tonumber(arg[3])
local claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = url, key = "test-key-1" }
local closed, refused, wrong = 0, 0, {}

local function note(problem) wrong[#wrong + 1] = tostring(problem) end

-- A finalizer that polls what is being polled, so often, and then closes it.
local function arm(state, polls)
  setmetatable({}, { __gc = function()
    if not state.armed then return end
    local ok, err = pcall(state.object.poll, state.object)
    if not ok then refused = refused + 1 end
    if not ok and err.field ~= what then note(err) end
    if polls > 0 then return arm(state, polls - 1) end
    state.object:close()
    closed = closed + 1
  end })
end

local function read_stream(stream)
  for delta in stream.next, stream do
    if delta.text and not ("hello world "):rep(2):find(delta.text, 1, true) then note(delta.text) end
  end
  local response, err = stream:response()
  if not response and err.class ~= "CancelledError" then note(err) end
end

-- Polls what is over again and again: the same answer each time, until it is closed.
local function read_again(object, check)
  local closed_before = closed
  for i = 1, 100000 do
    local _ = ("x"):rep(i % 997) -- or the collector might come at one place of the loop each time
    if i % 1000 == 0 then collectgarbage() end -- or not at all
    local result, err = object:poll()
    if result then check(result) elseif result == false then note "not over any more"
    elseif err.kind ~= "cancelled" then note(err) end
    if closed > closed_before then break end
  end
  local result, err = object:poll()
  if result or err.kind ~= "cancelled" then note "not closed" end
end

local function over(object)
  while object:poll() == false do core.engine():step(60) end
  return object
end

-- The body of a request that is over, as an object that is polled like the others: what is read of it.
local function body_of(request)
  local body = request:poll().body
  request:close()
  return {
    close = function() body:close() end,
    poll = function()
      local ok, value = pcall(core.vectors, body, { paths = {}, keep = { "error" } })
      if ok then return value end
      if value.expected == "an open body" then return nil, { kind = "cancelled" } end
      error(value, 0)
    end,
  }
end

-- Each kind: what opens one, and what reads it while the finalizer is armed.
local KINDS = {
  stream = { open = function() return assert(claude:open "Hi") end, read = read_stream },
  request = {
    open = function() return over(assert(core.request(core.engine(), { url = url .. "/nowhere" }))) end,
    read = function(request)
      read_again(request, function(answer)
        if answer.status ~= 404 or #answer.body == 0 then note "the answer" end
        if not answer.headers["content-type"] then note "the headers" end
      end)
    end,
  },
  body = {
    open = function()
      return body_of(over(assert(core.request(core.engine(), { url = url .. "/nowhere", hold_body = true }))))
    end,
    read = function(body)
      read_again(body, function(value)
        if type(value.error) ~= "table" then note "the error" end
      end)
    end,
  },
  process = {
    open = function()
      return over(assert(core.process { argv = { "sh", "-c", "head -c 10000 /dev/zero" }, output_max = 20000 }))
    end,
    read = function(process)
      read_again(process, function(result)
        if result.stdout ~= ("\0"):rep(10000) or result.code ~= 0 then note "the output" end
      end)
    end,
  },
}

if _VERSION == "Lua 5.4" then
  collectgarbage("setpause", 0)
  collectgarbage("setstepmul", 1000)
else
  collectgarbage("param", "pause", 0)
  collectgarbage("param", "stepmul", 1000)
end

-- The collector may come at one place in all rounds: what needs no answer of the provider's goes on until it came
-- elsewhere, too.
for round = 1, what == "stream" and rounds or 20 * rounds do
  if round > rounds and closed > 0 and refused > 0 then break end
  local state = { object = KINDS[what].open(), armed = true }
  arm(state, round % 3)
  KINDS[what].read(state.object)
  state.armed = false
end

print(("%s closed, %s refused, wrong: %s"):format(closed > 0 and "some" or "none", refused > 0 and "some" or "none",
  table.concat(wrong, " ")))
