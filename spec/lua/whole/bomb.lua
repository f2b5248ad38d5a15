-- A server that answers with 250 KB that inflate to 258 MB of line ends. Run as lua5.4 bomb.lua COUNT: it prints
-- its port, answers so many requests on 127.0.0.1, and ends.

local socket = require "socket"

-- Many line ends as zlib compresses them: a gzip head, a block whose codes are one bit each, and zero bits for as long
-- as they last. A zero byte is four copies of 258 bytes.
local HEAD = "\x1f\x8b\x08\0\0\0\0\0\x02\x03\xed\xc1\x31\x01\0\0\0\xc2\xa0\x7f\xfd\x03\x1b\x44\xa0"
local BODY = HEAD .. ("\0"):rep(250000)

local listener = assert(socket.bind("127.0.0.1", 0))
io.stdout:setvbuf "no"
print((select(2, listener:getsockname())))
listener:settimeout(30)
for _ = 1, tonumber(arg[1]) do
  local client = assert(listener:accept())
  client:settimeout(30)
  repeat local line = client:receive "*l" until not line or line == ""
  client:send(("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n"
    .. "content-length: %d\r\n\r\n"):format(#BODY) .. BODY)
  client:close()
end
