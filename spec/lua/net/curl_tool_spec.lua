-- The heads of answers, as curl's own tool reads them: every answer gives the same status, headers and body there and
-- here, or fails in both. Answers of a fixed seed, odd and broken ones among them; KOINE_ANSWERS says how many.

local core = require "koine.core"
local files = require "spec.support.files"
local folder = require "spec.support.folder"
local send = require("koine.net.http").send

local COUNT <const> = math.tointeger(tonumber(os.getenv "KOINE_ANSWERS")) or 200
local SEED <const> = 5

-- Answers from a file, by the number in the path; each on a connection of its own.
local SERVE <const> = [[
local socket = require "socket"
local answers = dofile(arg[1])
local listener = assert(socket.bind("127.0.0.1", 0, 64))
print((select(2, listener:getsockname())))
io.stdout:flush()
listener:settimeout(60)
while true do
  local peer = assert(listener:accept())
  peer:settimeout(10)
  local number = tonumber((peer:receive "*l" or ""):match "/(%d+)")
  if number == 0 then break end
  local line = number
  while line and line ~= "" do line = peer:receive "*l" end
  if number then peer:send(answers[number]) end
  peer:shutdown "send"
  peer:receive "*a"
  peer:close()
end
]]

local STATUS <const> = { "HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.1 404 Not Found", "HTTP/1.0 200 OK",
  "HTTP/1.1 200", "HTTP/1.1  200 OK", "HTTP/1.1\t200 OK", "http/1.1 200 OK", "HTTP/1.1 200OK", "HTTP/1.1 2000 OK",
  "HTTP/1.1 20 OK",
  "HTTP/1.1 600 Odd", "HTTP/1.1 999 Odd", "HTTP/1.1", "HTTP/2 200", "HTTP/0.9 200 OK", "HTTP 200 OK", "ICY 200 OK",
  " HTTP/1.1 200 OK", "HTTP/1.1 204 None", "HTTP/1.1 304 Same", "HTTP/1.1 206 Part", "HTTP/1.1 302 There",
  "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 200 OK", "HTTP/1.1 103 Early\r\nx-early: 1\r\n\r\nHTTP/1.1 200 OK", "hello", "" }
local HEADERS <const> = { "x-a: 1", "X-A:2", "x-b:   spaces   ", "x-c:\ttab\t", "x-empty:", "x-empty: ", "no colon",
  ": no name", "x d: space in the name", "x-e : space behind the name", "x-f: caf\xE9", "x-g: \u{1F642}", "x-h: a:b:c",
  "x-i: \"q, r\"", "content-type: text/plain", "content-type: application/json; charset=utf-8",
  "set-cookie: a=1", "set-cookie: b=2",
  "x-j: first\r\n second", "x-k: one\r\n\ttwo", "connection: close", "date: Sun, 22 Nov 2026 10:00:00 GMT", "x-l:\x01",
  "location: /elsewhere", "retry-after: 1", "content-encoding: identity", "x-m: " .. ("m"):rep(3000), "Trailer: x-t",
  "www-authenticate: Basic realm=\"x\"", "alt-svc: h3=\":1\"", "strict-transport-security: max-age=1" }
local FRAMES <const> = {
  function(body) return "content-length: " .. #body, body end,
  function(body) return "content-length: " .. #body, body end,
  function(body) return "content-length:" .. #body .. "\r\ncontent-length: " .. #body, body end,
  function(body) return "content-length: " .. #body + 3, body end,
  function(body) return "content-length: " .. #body, body .. "more" end,
  function(body) return "content-length: -1", body end,
  function(body) return "content-length: 99999999999999999999", body end,
  function(body) return "content-length: 2x", body end,
  function(body) return "content-length: 1, 2", body end,
  function(body) return nil, body end,
  function(body) return "transfer-encoding: chunked", ("%x\r\n%s\r\n0\r\n\r\n"):format(#body, body) end,
  function(body) return "transfer-encoding: chunked", ("%X;ext=1\r\n%s\r\n0\r\nx-t: 1\r\n\r\n"):format(#body, body) end,
  function(body)
    return "Transfer-Encoding: chunked\r\ncontent-length: 2", ("%x\r\n%s\r\n0\r\n\r\n"):format(#body, body)
  end,
  function(body) return "transfer-encoding: chunked", ("%x\r\n%s"):format(#body + 1, body) end,
  function(body) return "transfer-encoding: chunked", "zz\r\n" .. body end,
  function(body) return "transfer-encoding: chunked", ("%x\n%s\n0\n\n"):format(#body, body) end,
  function(body) return "transfer-encoding: identity", body end,
}
local BODIES <const> = { "ok", "", "{}", ("x"):rep(5000), "line\r\n\r\nline" }

-- One answer: its parts by chance, and now and then a byte of its head changed, doubled or gone.
local function answer(random)
  local function one_of(list) return list[random(#list)] end
  local frame, body = one_of(FRAMES)(one_of(BODIES))
  local lines = { one_of(STATUS) }
  for _ = 1, random(0, 4) do lines[#lines + 1] = one_of(HEADERS) end
  if frame then table.insert(lines, random(2, #lines + 1), frame) end
  local head = table.concat(lines, one_of { "\r\n", "\r\n", "\r\n", "\n" })
  if random(4) == 1 and #head > 0 then
    local at = random(#head)
    local with = one_of { "", "\0", "\r", "\n", " ", ":", "\x80", head:sub(at, at):rep(2) }
    head = head:sub(1, at - 1) .. with .. head:sub(at + 1)
  end
  return head .. one_of { "\r\n\r\n", "\r\n\r\n", "\r\n\r\n", "\n\n" } .. body
end

local function answers()
  math.randomseed(SEED)
  local list = {}
  for i = 1, COUNT do list[i] = answer(math.random) end
  return list
end

-- Returns curl's reading of each: {status, exit code, headers (name → array of values), body}. One process each: after
-- some failures the tool asks for nothing more.
local function ask_curl(directory, port)
  local pipe <close> = assert(io.popen(([[
unset LD_PRELOAD # a sanitizer's library, in which the tool may wait for ever
i=0
while [ $((i += 1)) -le %d ]; do
  curl --disable --silent --compressed --noproxy '*' --max-time 10 --output '%s/'$i \
    --write-out '%%{http_code} %%{exitcode}\n%%{header_json}\n@@\n' http://127.0.0.1:%d/$i
done]]):format(COUNT, directory, port)))
  local found = {}
  for status, code, headers in pipe:read "a":gmatch "(%d+) (%d+)\n(.-)\n@@\n" do
    local body = io.open(directory .. "/" .. #found + 1, "rb")
    found[#found + 1] = { status = math.tointeger(tonumber(status)), code = math.tointeger(tonumber(code)),
      headers = headers, body = body and body:read "a" or "" }
    if body then body:close() end
  end
  return found
end

-- The tool lets these pass where no body follows: an unknown coding of it, a NUL that ends the head without its end.
local STRICTER <const> = {
  ["not a valid HTTP answer: its body is packed in a way that was not asked for"] = true,
  ["not a valid HTTP answer: it has no head"] = true,
}

-- True for what the tools of 7.88 and 8.14 do not write alike: bytes beyond printable ASCII, an empty value.
local function is_odd(text) return text:find "u0?[0f]%x%x" or text:find "[\r\n\x80-\xFF]" end

-- Returns the difference in one answer, nil for none. The tool keeps the tab of a folded line, and leaves out some
-- headers behind doubled ones; a header without a name is none here. A CR alone ends a folded line for the tool of
-- 8.14.
local function difference(theirs, got, err, answered)
  if theirs.code ~= 0 then return got and "an answer here, a failure there" or nil end
  if not got then return not (#theirs.body == 0 and STRICTER[err.message]) and err.message or nil end
  if got.status ~= theirs.status then return "status " .. got.status end
  if got.body ~= theirs.body then return ("a body of %d bytes, %d there"):format(#got.body, #theirs.body) end
  if answered:find "\r[^\n]" then return nil end
  for name, values in pairs(assert(core.decode(theirs.headers))) do
    local value, mine = table.concat(values, ", "):gsub("\t", " "), got.headers[name]
    if name ~= "" and not is_odd(name .. value .. (mine or "")) and mine ~= value then
      return ("%s: %q, %q there"):format(name, tostring(mine), value)
    end
  end
end

describe("the head of an answer", function()
  it("is read as curl's tool reads it", function()
    local directory <const>, list, quoted = folder.new(), answers(), {}
    for i, text in ipairs(list) do quoted[i] = ("%q"):format(text) end
    files.write(directory .. "/answers.lua", "return {" .. table.concat(quoted, ",") .. "}")
    files.write(directory .. "/serve.lua", SERVE)
    local child = assert(io.popen(("%s %s/serve.lua %s/answers.lua"):format(os.getenv "KOINE_LUA" or "lua5.4",
      directory, directory)))
    local port = math.tointeger(tonumber(child:read "l"))
    local theirs = ask_curl(directory, port)
    local url, answered, problems = ("http://127.0.0.1:%d/%%d"):format(port), 0, {}
    for i, said in ipairs(theirs) do
      local function ask()
        return send { url = url:format(i), headers = { connection = "close" }, proxy = "", timeouts = { total = 10 } }
      end
      local got, err = ask()
      if not got and said.code == 0 and err.kind == "connect" then got, err = ask() end -- it went by the one before
      local what = difference(said, got, err, list[i])
      if what then problems[#problems + 1] = ("answer %d: %s\n%q"):format(i, what, list[i]:sub(1, 1000)) end
      if got then answered = answered + 1 end
    end
    send { url = url:format(0), proxy = "" } -- ends the server
    child:close()
    folder.remove(directory)
    assert.are.same({}, problems)
    assert.are.equal(COUNT, #theirs)
    assert.is_true(answered > COUNT / 4 and answered < COUNT * 3 / 4) -- both kinds
  end)
end)
