--- One request of a client's: with what the era wants in it, within its time limits, and again with the answers to what
-- the server asks before it can say the result.

local core = require "koine.core"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local failure = require "koine.protocol.mcp.client.failure"
local meta = require "koine.protocol.mcp.client.meta"
local observe = require "koine.protocol.mcp.observe"
local wait = require "koine.task.wait"

local send = {}

local ROUNDS_MAX = 10 -- of questions that a server asks before a result

-- The requests whose results may ask something.
local MAY_ASK = { ["tools/call"] = true, ["prompts/get"] = true, ["resources/read"] = true }

-- How many run at once -----------------------------------------------------------------------------------------------

-- Waits for a place among the calls that run at once: a value for <close>, or nil, err. Who blocks the thread waits for
-- nobody.
local function enter(connection, latest)
  local slots = connection.slots
  while slots.taken >= slots.most and wait.suspends() do
    local left = latest and latest - wait.now()
    if left and left <= 0 then
      return nil, failure.new(connection, "timeout", "no call ended in time to begin another one", "total")
    end
    local _, err = wait.park(slots, left)
    if err then return nil, err end
  end
  local gone = defer(function()
    slots.taken = slots.taken - 1
    wait.wake(slots)
  end)
  slots.taken = slots.taken + 1
  return gone
end

-- One request --------------------------------------------------------------------------------------------------------

-- Its params as JSON text: `arguments_json` stands in it as it came.
local function spliced(params, arguments_json)
  local parts = {}
  for name, value in next, params do parts[#parts + 1] = core.encode(name) .. ":" .. core.encode(value) end
  table.sort(parts)
  parts[#parts + 1] = '"arguments":' .. arguments_json:gsub("[\r\n]", " ")
  return "{" .. table.concat(parts, ",") .. "}"
end

-- function(id) → the params of a request. `watch` is told that it begins (nil: nobody observes).
local function with_meta(connection, params, opts, wants_progress, watch)
  local version = connection.known.era == "modern" and connection.known.version or nil
  return function(id)
    local all, traceparent = {}, watch and watch:begin(id)
    for name, value in next, params do all[name] = value end
    all._meta = meta.of_request(version, connection.offered, connection.options.log_level,
      wants_progress and tostring(id) or nil, opts.traceparent or traceparent)
    if opts.arguments_json then return spliced(all, opts.arguments_json) end
    return all
  end
end

local function number_or_nil(value) return math.type(value) and value or nil end

-- What a user and an observer hear of a progress message.
local function heard_by(on_progress, watch)
  if not on_progress and not watch then return nil end
  return function(params)
    if watch then watch.progress = watch.progress + 1 end
    if not on_progress then return end
    on_progress { progress = number_or_nil(params.progress), total = number_or_nil(params.total),
      message = type(params.message) == "string" and params.message or nil }
  end
end

-- Whether the request may be made again after an error: in another session, where the server forgot ours; and where
-- the answer was lost on its way, if it does no harm that it was made before.
local function may_repeat(connection, method, opts, err)
  if err.code == "session_gone" then return true end
  return err.kind == "stream_truncated" and connection.known.era == "modern"
    and (method ~= "tools/call" or opts.repeatable == true)
end

-- Asks once: as `ask`.
local function ask_once(connection, method, params, opts, latest, watch)
  local transport, err = connection:get(latest and math.max(latest - wait.now(), 0))
  if not transport then return nil, err end
  local left = latest and latest - wait.now()
  if left and left <= 0 then
    return nil, failure.new(connection, "timeout", method .. ": no answer in time", "total")
  end
  local on_progress = opts.on_progress or connection.options.on_progress
  local result
  result, err = transport:request(method,
    with_meta(connection, params, opts, method == "tools/call" or on_progress ~= nil, watch),
    { timeout = left, idle = opts.idle, on_progress = heard_by(on_progress, watch), name = opts.name,
      headers = opts.headers })
  if result == nil then
    return nil, failure.of(connection, transport, method, err), may_repeat(connection, method, opts, err)
  end
  if type(result) ~= "table" or getmetatable(result) == core.array_mt then
    return nil, failure.new(connection, "protocol", method .. ": a result that is no object")
  end
  return result
end

-- Asks once: the result (table), or nil, err, and whether it may be asked again. Tells an observer of it.
local function ask(connection, method, params, opts, latest)
  if not (opts.parent or connection.options.observer) then
    return ask_once(connection, method, params, opts, latest)
  end
  local watch <close> = observe.request(connection, method, opts)
  local result, err, again = ask_once(connection, method, params, opts, latest, watch)
  watch:over(result, err)
  return result, err, again
end

-- The questions of a result ------------------------------------------------------------------------------------------

-- The params with the answers to what a result asks: or nil, err.
local function answered(connection, method, params, result)
  if not MAY_ASK[method] then
    return nil, failure.new(connection, "protocol", method .. ": the server asks for input, which it may not do here")
  end
  local again = {}
  for name, value in next, params do again[name] = value end
  local state = result.requestState
  if state == core.null then state = nil end -- absent: the protocol knows texts only
  again.requestState, again.inputResponses = state, nil
  local questions = result.inputRequests
  if type(questions) == "table" and next(questions) ~= nil then
    local responses, err = connection.inputs:respond(questions)
    if not responses then return nil, failure.prefixed(connection, err) end
    again.inputResponses = responses
  end
  return again
end

-- Asks until there is a result: that, and whether the server asked something; or nil, err.
local function ask_through(connection, method, params, opts, latest)
  local round = 0
  while true do
    local result, err, again = ask(connection, method, params, opts, latest)
    if again then result, err = ask(connection, method, params, opts, latest) end
    if not result then return nil, err end
    local kind = connection.known.era == "modern" and result.resultType or "complete"
    if kind == "complete" then return result, round > 0 end
    if kind ~= "input_required" then
      return nil, failure.new(connection, "protocol", ("%s: a result of the unknown type %s"):format(method,
        errors.describe(kind)))
    end
    round = round + 1
    if round > ROUNDS_MAX then
      return nil, failure.new(connection, "limit", ("%s: the server asked %d times"):format(method, round))
    end
    params, err = answered(connection, method, params, result)
    if not params then return nil, err end
  end
end

--- Asks the server: the result (table), and whether the server asked something before it; or nil, err. `opts`: timeout
-- and idle (seconds, or nil: no limit), on_progress, name (of the tool, prompt or resource), headers, arguments_json
-- (params.arguments as JSON), traceparent (in place of the observed one), parent (what it is a part of for observers),
-- repeatable (true: the tool may be called twice).
-- Raises what a callback of the client's raised meanwhile.
function send.request(connection, method, params, opts)
  local latest = opts.timeout and wait.now() + opts.timeout
  local result, asked
  do
    local entered <close>, err = enter(connection, latest) -- luacheck: ignore entered
    if not entered then return nil, err end
    result, asked = ask_through(connection, method, params, opts, latest)
  end
  connection:check()
  return result, asked
end

return send
