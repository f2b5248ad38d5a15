-- server.lua FOLDER NUMBER: a server of MCP on standard input and output with a tool that says its argument again. Its
-- process id is in the file FOLDER/NUMBER.

local folder, number = arg[1], arg[2]

do
  local stat <close> = assert(io.open "/proc/self/stat")
  local file <close> = assert(io.open(("%s/%s"):format(folder, number), "w"))
  file:write((stat:read "l":match "^%d+"))
end

local INITIALIZED = '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},'
  .. '"serverInfo":{"name":"storm","version":"1"}}'
local SAID = '{"content":[{"type":"text","text":"%s:%s"}]}'

local function result_of(method, line)
  if method == "initialize" then return INITIALIZED end
  if method == "tools/call" then return SAID:format(number, line:match '"value":"([^"]*)"') end
end

io.stdout:setvbuf "line"
for line in io.lines() do
  local id, method = line:match '^{"id":(%d+)', line:match '"method":"([^"]*)"'
  local result = id and result_of(method, line)
  if result then
    print(('{"jsonrpc":"2.0","id":%s,"result":%s}'):format(id, result))
  elseif id then
    print(('{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}'):format(id))
  end
end
