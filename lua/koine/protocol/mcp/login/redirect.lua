--- Where the browser comes back to: a listener on this machine's loopback interface, for the time of one login. It
-- takes one answer, the one with our state; whatever else comes gets an error page and changes nothing. It owns its
-- socket, and closes it with its connections.

local call = require "koine.protocol.mcp.login.call"
local wait = require "koine.task.wait"

local redirect = {}

local PATH = "/callback"
local TICK = 0.05      -- seconds between two looks at libuv's loop, where nobody runs it
local LAST_PAGE = 1    -- seconds that the browser has to take the page
local BOUNDS = { head = 10, body = 1, close = 5, waiting = 16, admits = function() return false end }

local PAGE = [[<!doctype html>
<html lang="en"><meta charset="utf-8"><title>%s</title>
<body style="font-family: sans-serif; margin: 4em"><h1>%s</h1><p>%s</p></body></html>
]]

local methods = {}
local metatable = { __index = methods, __name = "koine.mcp.redirect", __close = function(self) self:close() end }

-- A whole answer. No word of the request is in it.
local function page(server, status, title, words)
  local body = PAGE:format(title, title, words)
  return server.head(status, { { "content-type", "text/html; charset=utf-8" }, { "content-length", #body },
    { "cache-control", "no-store" }, { "referrer-policy", "no-referrer" }, { "connection", "close" },
    { "content-security-policy", "default-src 'none'; style-src 'unsafe-inline'" } }) .. body
end

-- The handler of connections.
local function handler(self, server)
  return function(conn, request)
    local query = request.query
    if request.method ~= "GET" or request.path ~= PATH then
      conn:send(page(server, 404, "Nothing here", "This page belongs to a login."))
    elseif self.answer or query.state ~= self.state then
      conn:send(page(server, 400, "Not the login that is waited for", "Go back to the program, and begin again."))
    else
      self.answer, self.last = query, conn
      wait.wake(self)
      local failed = query.error ~= nil or query.code == nil
      conn:send(page(server, 200, failed and "Not logged in" or "Almost done", (failed and "The login was refused."
        or "The program goes on with the login.") .. " You can close this page."))
      self.sent = true
      wait.wake(self)
    end
    return false
  end
end

--- Listens on 127.0.0.1 at `port` (0: a free one) for the answer with this state: a listener, whose `uri` is what the
-- authorisation server sends the browser to; or nil, err: where the port is taken (code "port"), or luv is missing.
function redirect.listen(port, state)
  local found, uv = pcall(require, "luv")
  if not found then
    return nil, call.failure("other", "the module luv is missing, which listens for the browser")
  end
  local server = require "koine.net.http_server"
  local self = setmetatable({ uv = uv, state = state, answer = false, sent = false, last = false, closed = false },
    metatable)
  local listens, bound, stop = pcall(server.listen, handler(self, server), port, "127.0.0.1", BOUNDS)
  if not listens then
    return nil, call.failure("other", ("cannot listen on 127.0.0.1:%d"):format(port), "port")
  end
  self.port, self.stop, self.uri = bound, stop, ("http://127.0.0.1:%d%s"):format(bound, PATH)
  return self
end

-- Waits until is_done(), at most until `latest`: true, false when the time is over, or nil, err. libuv's loop is mostly
-- the host's own; where nobody runs it, it is run here a step at a time.
local function await(self, is_done, latest)
  while not is_done() do
    local left = latest - wait.now()
    if left <= 0 then return false end
    local runs_elsewhere = self.uv.loop_mode() ~= nil
    if not runs_elsewhere then
      self.uv.run "nowait"
      if is_done() then return true end
    end
    local _, err = wait.park(self, runs_elsewhere and left or math.min(left, TICK))
    if err then return nil, err end
  end
  return true
end

--- Waits for the browser, at most until `latest` (seconds of the monotonic clock): the query of its address, a table of
-- strings; or nil, err: of kind timeout or cancelled.
function methods:wait(latest)
  local came, err = await(self, function() return self.answer end, latest)
  if came then return self.answer end
  return nil, err or call.failure("timeout", "no login in time", "login")
end

--- Ends listening; waits a moment, until the browser has its page. Returns nothing; any number of times.
function methods:close()
  if self.closed then return end
  self.closed = true
  local last = self.last
  if last then
    local is_ours = self.uv.loop_mode() == nil
    await(self, function() return is_ours and last.tcp:is_closing() or not is_ours and self.sent end,
      wait.now() + LAST_PAGE)
  end
  self.stop()
  if not self.uv.loop_mode() then self.uv.run "nowait" end
end

--- The query of an address that the browser was sent to (a string, as a person copied it): a table of strings; or nil,
-- err, where it is none, or of another login.
function redirect.read(given, state)
  local query = given:match "%?([^#]*)"
  local answer = query and require("koine.net.http_server").parse_query(query)
  if not answer or answer.state ~= state then
    return nil, call.failure("auth", "the address that on_url returned is not the answer to this login", "state")
  end
  return answer
end

return redirect
