-- request.lua FORMAT URL PATH [plain]: makes a stream, or a plain chat, and prints the bytes of the request as they
-- came to the server: what the C programs send, too.
local http = require "koine.net.http"
local kit = require "bench.koine.kit"

local format, url, path, plain = table.unpack(arg)
local adapter = kit.adapter(url, format, path)
if plain then
  assert(adapter:chat "Why is the sky blue?")
else
  local stream <close> = assert(adapter:open "Why is the sky blue?")
  assert(stream:next())
end
io.write(assert(http.send { method = "GET", url = url .. "/last", headers = {} }).body)
