-- poll.lua: a line server in the event loop of koine.hosts.poll. It answers each line that a
-- client sends with one line, for any number of clients. Usage: lua5.4 examples/poll.lua [provider/model] [port]
-- Then: nc 127.0.0.1 PORT. The line "quit" ends the server.
local koine = require "koine"
local socket = require "socket"

local adapter = koine.adapter(arg[1] or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" })
local poll = koine.hosts.poll

poll.install()

local listener = assert(socket.bind("127.0.0.1", arg[2] or 0))
local quit = false

-- Waits for the next line of a client and returns it; nil at the end.
local function next_line(client)
  local part = ""
  while poll.await(client, "r") do
    local line, err, more = client:receive("*l", part)
    if line or err ~= "timeout" then return line end
    part = more
  end
end

local function serve(client)
  client:settimeout(0)
  for line in next_line, client do
    if line == "quit" then quit = true break end
    local response, err = adapter:chat(line)
    client:send((response and response:text():gsub("%s+", " ") or "error: " .. tostring(err)) .. "\n")
  end
  client:close()
end

poll.spawn(function()
  while not quit do
    if poll.await(listener, "r", 0.1) then poll.spawn(serve, assert(listener:accept())) end
  end
end)

print("listening on port " .. select(2, listener:getsockname()))
io.stdout:flush()
poll.run()
