-- The program at the other end of a peer: JSON-RPC on its standard input and output, with manners of its own, which its
-- first argument names. It reads and writes without Koine's peer.

local core = require "koine.core"

io.stdout:setvbuf "full"

local function say(value)
  io.write(type(value) == "string" and value or core.encode(value), "\n")
  io.flush()
end

local function hear()
  local line = io.read "l"
  return line and core.decode(line)
end

local function answer(request, result)
  say { jsonrpc = "2.0", id = request.id, result = result == nil and (request.params or core.null) or result }
end

local manners = {}

-- Answers each request with its params.
function manners.echo()
  for request in hear do
    if request.id then answer(request) end
  end
end

-- The same behind a banner.
function manners.banner()
  say "Welcome to the server!\n{ not json\n"
  return manners.echo()
end

-- Answers so many requests in reverse.
function manners.reverse()
  local list = {}
  for i = 1, tonumber(arg[2]) do list[i] = hear() end
  for i = #list, 1, -1 do answer(list[i]) end
  return manners.echo()
end

-- Each answer one byte at a time.
function manners.bytes()
  for request in hear do
    local line = core.encode { jsonrpc = "2.0", id = request.id, result = request.params } .. "\n"
    for i = 1, #line do
      io.write(line:sub(i, i))
      io.flush()
    end
  end
end

-- A turn: asks with ids of its own, the same as ours among them; the result is what it was answered.
function manners.turn()
  for request in hear do
    local heard, ids = {}, { 0, "0", 1, "one", 2.5, request.id }
    for i, id in ipairs(ids) do
      say { jsonrpc = "2.0", id = id, method = i == 2 and "nothing/known" or "ask", params = { i } }
      say { jsonrpc = "2.0", method = "update", params = { session = "s", n = i } }
    end
    for i = 1, #ids do heard[i] = hear() end
    answer(request, heard)
  end
end

-- A line of so many bytes.
function manners.big()
  for request in hear do answer(request, ("x"):rep(request.params[1])) end
end

-- Reads so many requests, and ends with 7.
function manners.dies()
  for _ = 1, tonumber(arg[2]) do hear() end
  io.stderr:write "I am gone\n"
  os.exit(7)
end

-- Reads nothing before the file arg[2] is there, then behaves as echo.
function manners.deaf()
  repeat local file = io.open(arg[2]) until file or not os.execute "sleep 0.01"
  return manners.echo()
end

-- Notifies for ever, of a method and a session that its arguments name.
function manners.floods()
  local line = core.encode { method = arg[2], params = { session = arg[3], n = ("x"):rep(1000) } } .. "\n"
  while io.write(line) do end -- luacheck: ignore
end

-- Notifies so many times before it answers; the file arg[3] has how many times.
function manners.updates()
  local request, count = hear(), assert(io.open(arg[3], "w"))
  for i = 1, tonumber(arg[2]) do
    say { method = "update", params = { session = "s", n = i, text = ("x"):rep(1000) } }
    count:seek "set"
    count:write(i)
    count:flush()
  end
  answer(request)
  return manners.echo()
end

-- Says something else than messages, for ever.
function manners.babbles()
  while io.write "a line of something else\n" do end -- luacheck: ignore
end

manners[arg[1]]()
