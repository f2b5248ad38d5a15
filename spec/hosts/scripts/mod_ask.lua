-- mod_ask.lua: a module of Prosody, whose loop watches the engine: GET /ask/chat?TEXT, /ask/stream?TEXT
-- (server-sent events), /ask/fail?TEXT, /ask/state, /ask/reload. Each request has a coroutine of its own, and
-- Prosody goes on meanwhile.
-- luacheck: globals module prosody
module:depends "http"

local koine = require "koine"
local server = require "net.server"

local engine, watch, deadline = koine.engine(), nil, nil
local parked = {} -- coroutine → {token, timer}
local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = os.getenv "KOINE_URL",
  retry = false }

-- Waiting -----------------------------------------------------------------------------------------------------------

-- Goes on with a coroutine, if it still waits for the token.
local function resume(co, token, woken)
  local waits = parked[co]
  if not waits or waits.token ~= token then return end
  parked[co] = nil
  if waits.timer then waits.timer:stop() end
  local ok, err = coroutine.resume(co, woken)
  if not ok then module:log("error", "%s", tostring(err)) end
end

local pump

-- A new call may have shortened the time until the engine wants to be asked again. The descriptor is watched from the
-- first one on: when modules are loaded, Prosody may be about to fork, and a child has another engine.
local function look()
  watch = watch or server.watchfd(engine:pollfd(), pump)
  if deadline then deadline:stop() end
  local seconds = engine:timeout()
  deadline = seconds and module:add_timer(seconds, pump)
end

function pump()
  koine.pump(0)
  look()
end

koine.set_host {
  park = function(token, seconds)
    local co = coroutine.running()
    local timer = seconds and module:add_timer(seconds, function() resume(co, token, false) end)
    parked[co] = { token = token, timer = timer or nil }
    look()
    return coroutine.yield()
  end,
  wake = function(token)
    for co, waits in pairs(parked) do
      if waits.token == token then
        resume(co, token, true)
        return
      end
    end
  end,
}

-- Ends what a coroutine waits for: its streams close with it.
local function cancel(co)
  local waits = parked[co]
  if not waits then return end
  parked[co] = nil
  if waits.timer then waits.timer:stop() end
  coroutine.close(co)
end

function module.unload()
  while next(parked) do cancel((next(parked))) end
  if deadline then deadline:stop() end
  if watch then watch:del() end -- not close: the descriptor is Koine's
  koine.set_host(nil)
end

-- Requests ----------------------------------------------------------------------------------------------------------

-- Runs f(text, response) in a coroutine, which ends with the client's connection.
local function route(f)
  return function(event)
    local response = event.response
    local co = coroutine.create(function()
      local ok, err = pcall(f, event.request.url.query or "", response)
      if not ok then
        response.status_code = 500
        response:send(tostring(err))
      end
    end)
    response.on_destroy = function() cancel(co) end
    assert(coroutine.resume(co))
    return true
  end
end

local function chat(text, response)
  local answer, err = claude:chat(text)
  if not answer then response.status_code = 502 end
  response:send(answer and answer:text() or tostring(err))
end

local function stream(text, response)
  response.headers.content_type = "text/event-stream"
  response.persistent = false
  response:write_headers()
  for delta in claude:stream(text) do
    if delta.type == "text_delta" then response.conn:write(("data: %s\n\n"):format(delta.text)) end
  end
  response:done()
end

local function state()
  local waiting = 0
  for _ in pairs(parked) do waiting = waiting + 1 end
  return ("%d waiting, %s"):format(waiting, tostring(engine))
end

local function reload()
  module:add_timer(0, function() require "core.modulemanager".reload(module.host, "ask") end)
  return "soon"
end

module:provides("http", { route = {
  ["GET /chat"] = route(chat), ["GET /stream"] = route(stream), ["GET /state"] = state, ["GET /reload"] = reload,
  ["GET /fail"] = route(function(text) error(text) end),
} })
