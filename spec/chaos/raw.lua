--- A server that breaks HTTP in every way that the loopback provider, which speaks it, cannot. A process of its own:
-- listens on 127.0.0.1, prints "PORT TLS_PORT", serves until its standard input ends. The path of a request chooses
-- what is done to it: /NAME/NUMBER/…; the number chooses the text of the answer. Redirects point to a third port: GET
-- /decoy says how many connections it ever had. Run as lua5.4 -e 'require("spec.chaos.raw").main(DIRECTORY)', with
-- cert.pem and key.pem in the directory.

local uv = require "luv"

local answers = require "spec.chaos.answers"

local BLOCK = ("x"):rep(16384)
local decoy_port, decoy_visits = nil, 0

-- Connections --------------------------------------------------------------------------------------------------------

local methods = {}
local Connection = { __index = methods }

--- Sends bytes, then calls `after` (nothing when the peer is gone).
function methods:send(bytes, after)
  if self.tcp:is_closing() then return end
  self.tcp:write(bytes, function(err) if not err and after then after() end end)
end

--- Sends bytes and ends the connection in order.
function methods:finish(bytes)
  self:send(bytes, function()
    if not self.tcp:is_closing() then self.tcp:shutdown(function() self:close() end) end
  end)
end

function methods:close()
  if not self.tcp:is_closing() then self.tcp:close() end
end

--- Sends what `make` gives, for ever, as fast as it is taken.
function methods:flood(make)
  self:send(make(), function() self:flood(make) end)
end

--- Sends what `make` gives, for ever, slowly.
function methods:drip(make)
  local timer = uv.new_timer()
  timer:start(5, 5, function()
    if self.tcp:is_closing() then return timer:close() end
    self:send(make())
  end)
end

-- Answers ------------------------------------------------------------------------------------------------------------

local function head(request, more, status)
  return ("HTTP/1.1 %s\r\ncontent-type: %s\r\n%s"):format(status or "200 OK", request.kind, more or "")
end

local function with_length(request, length)
  return head(request, ("content-length: %s\r\n\r\n"):format(length or #request.body)) .. request.body
end

local function chunked(request, frame)
  return head(request, "transfer-encoding: chunked\r\n\r\n") .. frame
end

local function chunk(bytes, extension) return ("%x%s\r\n%s\r\n"):format(#bytes, extension or "", bytes) end

local function redirect(status)
  return function(conn, request)
    conn:send(head(request, ("location: http://127.0.0.1:%d/elsewhere\r\ncontent-length: 0\r\n\r\n")
      :format(decoy_port), status .. " Over there"))
  end
end

-- Changes to a request ----------------------------------------------------------------------------------------------

local acts = {}

-- Right answers in odd clothes.
function acts.right(conn, request) conn:send(with_length(request)) end
function acts.right_once(conn, request) -- and the peer closes
  conn:send(head(request, ("connection: close\r\ncontent-length: %d\r\n\r\n"):format(#request.body)) .. request.body)
end
function acts.until_close(conn, request) conn:finish(head(request, "\r\n") .. request.body) end
function acts.length_huge(conn, request) conn:finish(with_length(request, "99999999999999999999999")) end
function acts.interim(conn, request)
  conn:send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" .. with_length(request))
end
function acts.surplus(conn, request) conn:finish(with_length(request) .. "HTTP/1.1 500 Not yours\r\n\r\n" .. BLOCK) end
function acts.chunk_extensions(conn, request)
  local frames = {}
  for at = 1, #request.body, 3 do frames[#frames + 1] = chunk(request.body:sub(at, at + 2), ";a=" .. ("b"):rep(20)) end
  conn:send(chunked(request, table.concat(frames) .. "0\r\nx-trailer: 1\r\n\r\n"))
end
function acts.one_byte(conn, request)
  local bytes, at = with_length(request), 0
  local function step()
    at = at + 1
    if at <= #bytes then conn:send(bytes:sub(at, at), step) end
  end
  step()
end

-- Heads without an end, or with nonsense in them.
function acts.head_flood(conn, request)
  conn:send(head(request), function() conn:flood(function() return "x-flood: " .. ("y"):rep(200) .. "\r\n" end) end)
end
function acts.head_line(conn, request)
  conn:send(head(request, "x-long: "), function() conn:flood(function() return BLOCK end) end)
end
function acts.head_drip(conn, request)
  conn:send(head(request, "x-slow: "), function() conn:drip(function() return "y" end) end)
end
function acts.interim_flood(conn) conn:flood(function() return "HTTP/1.1 100 Continue\r\n\r\n" end) end
function acts.head_nul(conn, request) conn:finish(head(request, "x-nul: a\0b\r\n\r\n") .. request.body) end
function acts.head_cut(conn, request) conn:finish(head(request, "x-cut: a")) end
function acts.no_http(conn) conn:finish("\22\3\1\0\200garbage\r\n\r\n" .. BLOCK) end
function acts.no_http_endless(conn) conn:flood(function() return BLOCK end) end
function acts.before_status(conn, request) conn:finish("garbage\r\n" .. with_length(request)) end
function acts.version(conn, request) conn:finish((with_length(request):gsub("^HTTP/1%.1", "HTTP/9.9"))) end
function acts.status_odd(conn, request) conn:finish((with_length(request):gsub("200 OK", "999 ?"))) end
function acts.upgrade(conn, request)
  conn:finish("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n" .. request.body)
end
function acts.close_at_once(conn) conn:close() end
function acts.reset_at_once(conn) conn.tcp:close_reset() end
function acts.silent() end

-- Bodies that are not as long as they say.
function acts.length_short(conn, request) conn:finish(with_length(request, #request.body + 1000)) end
function acts.length_long(conn, request) conn:finish(with_length(request, #request.body // 2)) end
function acts.length_two(conn, request)
  conn:finish(head(request, ("content-length: 10\r\ncontent-length: %d\r\n\r\n"):format(#request.body)) .. request.body)
end
function acts.length_bad(conn, request) conn:finish(with_length(request, "-1")) end
function acts.chunk_bad(conn, request) conn:finish(chunked(request, "zz\r\n" .. request.body)) end
function acts.chunk_huge(conn, request) conn:finish(chunked(request, "fffffffffffffffffff\r\n" .. request.body)) end
function acts.chunk_cut(conn, request)
  conn:finish(chunked(request, ("%x\r\n"):format(#request.body) .. request.body:sub(1, #request.body // 2)))
end
function acts.trailer_flood(conn, request)
  conn:send(chunked(request, chunk(request.body) .. "0\r\n"), function()
    conn:flood(function() return "x-trailer: " .. ("y"):rep(200) .. "\r\n" end)
  end)
end
function acts.empty(conn, request) conn:finish(head(request, "content-length: 0\r\n\r\n")) end

-- Bodies that are not what they say, or never end.
function acts.gzip_not(conn, request) conn:finish(head(request, "content-encoding: gzip\r\n\r\n") .. request.body) end
function acts.gzip_cut(conn, request)
  conn:finish(head(request, "content-encoding: gzip\r\n\r\n") .. "\31\139\8\0\0\0\0\0\0\3\203\72\205")
end
function acts.encodings(conn, request)
  conn:finish(head(request, "content-encoding: " .. ("gzip, "):rep(20) .. "gzip\r\n\r\n") .. request.body)
end
function acts.binary(conn, request)
  conn:finish(head(request, "\r\n") .. "\0\255\254\1" .. BLOCK:gsub("x", "\200"))
end
function acts.html(conn)
  conn:finish "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<html><title>Log in</title>"
end
function acts.deep(conn, request)
  local body = ("["):rep(200000)
  conn:finish(head(request, "\r\n") .. (request.streaming and "data: " .. body .. "\n\n" or body))
end
function acts.line_endless(conn, request)
  conn:send(head(request, "\r\n") .. "data: ", function() conn:flood(function() return BLOCK end) end)
end
function acts.body_drip(conn, request)
  conn:send(head(request, "\r\n"), function() conn:drip(function() return request.streaming and ":\n" or " " end) end)
end
function acts.body_endless(conn, request)
  conn:send(head(request, "\r\n"), function()
    conn:flood(function() return request.streaming and (": " .. ("c"):rep(60) .. "\n"):rep(100) or (" "):rep(9000) end)
  end)
end
function acts.events_endless(conn, request)
  local start = answers.beginning(request.wire, "And ")
  local last = start:match "\n\n(.-\n\n)$" or start
  conn:send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" .. start, function()
    conn:flood(function() return last:rep(50) end)
  end)
end

-- Answers that try to get at the credential, or to be taken for something else.
function acts.echo(conn, request)
  local line = request.head:gsub("\r\n", " | ")
  local words = line:gsub('["\\]', "")
  local body = ('{"type":"error","error":{"type":"%s","message":"%s"}}'):format(words, words)
  local form = "HTTP/1.1 401 %s\r\ncontent-type: application/json\r\nx-request-id: %s\r\nwww-authenticate: %s\r\n\r\n"
  conn:finish(form:format(line, line, line) .. body)
end
for _, status in ipairs { 301, 302, 303, 307, 308 } do acts["redirect_" .. status] = redirect(status) end

-- Requests -----------------------------------------------------------------------------------------------------------

local function answer(conn, request)
  local name, number = request.path:match "^/([%w_]+)/(%d+)/"
  request.wire = request.path:find "/messages$" and "anthropic" or "chat"
  request.streaming = request.given:find('"stream":true', 1, true) ~= nil
  request.body, request.kind = answers.body(request.wire, request.streaming, answers.text(tonumber(number) or 0))
  if request.path == "/decoy" then
    local text = tostring(decoy_visits)
    conn:finish(("HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"):format(#text, text))
  else
    acts[name](conn, request)
  end
end

-- Reads requests one after the other.
local function read(conn, data)
  conn.inbox = conn.inbox .. data
  local first, last = conn.inbox:find("\r\n\r\n", 1, true)
  if not first then return end
  local lines = conn.inbox:sub(1, first - 1)
  local length = tonumber(lines:lower():match "content%-length: (%d+)") or 0
  if #conn.inbox < last + length then return end
  local request = { head = lines, path = lines:match "^%u+ (%S+)", given = conn.inbox:sub(last + 1, last + length) }
  conn.inbox = conn.inbox:sub(last + length + 1)
  answer(conn, request)
end

local function accept(server)
  local conn = setmetatable({ tcp = uv.new_tcp(), inbox = "" }, Connection)
  assert(server:accept(conn.tcp))
  conn.tcp:read_start(function(err, data)
    if err or not data then return conn:close() end
    read(conn, data)
  end)
end

local function listen(on_connection)
  local server = uv.new_tcp()
  assert(server:bind("127.0.0.1", 0))
  assert(server:listen(128, function() on_connection(server) end))
  return server:getsockname().port
end

-- The TLS side: openssl's server decrypts, one connection after the other, and we answer.
local function serve_tls(directory)
  local probe = uv.new_tcp()
  assert(probe:bind("127.0.0.1", 0))
  local port = probe:getsockname().port
  probe:close()
  local from, to = uv.new_pipe(false), uv.new_pipe(false)
  local child = uv.spawn("openssl", { stdio = { to, from, nil }, args = { "s_server", "-quiet", "-naccept", "1000000",
    "-accept", "127.0.0.1:" .. port, "-cert", directory .. "/cert.pem", "-key", directory .. "/key.pem" } })
  assert(child, "openssl does not start")
  local conn = setmetatable({ tcp = to, inbox = "" }, Connection)
  from:read_start(function(_, data)
    if data then read(conn, data) end
  end)
  return port, child
end

-- Calls `done` once somebody listens at the port.
local function when_open(port, done)
  local tcp = uv.new_tcp()
  tcp:connect("127.0.0.1", port, function(err)
    tcp:close()
    if not err then return done() end
    local timer = uv.new_timer()
    timer:start(20, 0, function()
      timer:close()
      when_open(port, done)
    end)
  end)
end

local function listen_decoy()
  return listen(function(server)
    decoy_visits = decoy_visits + 1
    local tcp = uv.new_tcp()
    server:accept(tcp)
    tcp:close()
  end)
end

local function main(directory)
  local port = listen(accept)
  decoy_port = listen_decoy()
  local tls_port, child = serve_tls(directory)
  local input = uv.new_pipe(false)
  assert(input:open(0))
  input:read_start(function(_, data)
    if data then return end
    child:kill "sigkill"
    os.exit(0)
  end)
  local left = uv.new_signal()
  left:start("sigpipe", function() end)
  when_open(tls_port, function()
    io.stdout:write(port, " ", tls_port, "\n")
    io.stdout:flush()
  end)
  uv.run()
end

return { main = main, acts = acts }
