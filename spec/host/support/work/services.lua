--- Turns that call the services of services.h.

local connect = require "koine.net.connect"
local exchange = require "koine.net.http"
local kit = require "work.kit"
local koine = require "koine"
local streamed = require "koine.net.streamed"

local path, same, put, get, check_whole, OLD, NEW =
  kit.path, kit.same, kit.put, kit.get, kit.check_whole, kit.OLD, kit.NEW

local HERE = "http://127.0.0.1:"
local github, executor, redis = os.getenv("SERVICES"):match "^(%d+) (%d+) (%d+)$" -- ports

local turns = {}

-- The error of a remote executor: libcurl's lack of memory for a lookup is trouble of the connection, as for adapters.
local function reason(err)
  if err.kind == "executor" and err.message:find("thread failed to start", 1, true) then return "not enough memory" end
  return err
end

-- A remote executor's tools; its directory is the turns' own.
function turns.remote()
  local make = koine.executor.remote
  local function go()
    local remote <close> = make { url = HERE .. executor, token = "an-executor's-token" }
    local said, info = remote.run("write_file", { path = "file", content = NEW })
    if said == nil then return nil, reason(info) end
    same(said, ("Wrote %d bytes to file."):format(#NEW))
    said, info = remote.run("read_file", { path = "file" })
    if said == nil then return nil, reason(info) end
    same(said, NEW)
    return true
  end
  put("file", OLD)
  return go, function()
    check_whole("file", OLD, NEW)
    put("file", OLD)
    local ok, err = go()
    if not ok then return nil, err end
    same(get "file", NEW)
    return os.remove(path "file")
  end
end

-- Copilot's login with a code, the exchange of its token, and a chat.
function turns.login()
  local token = path "token"
  local shown, adapter = 0, nil
  local function new()
    return koine.copilot { model = "gpt-4.1", github_host = HERE .. github, token_path = token, retry = false,
      min_request_interval = 0, on_device_code = function(code)
        shown = shown + 1
        if not code.user_code:find "^%w+%-%w+$" then error("wrong answer: " .. code.user_code) end
      end }
  end
  local function chatted(one)
    local r, err = one:chat "Hi"
    if not r then return nil, err end
    same(r:text(), "You said: Hi")
    return true
  end
  local function go()
    adapter = new()
    return chatted(adapter)
  end
  -- One that was cut short goes on, and logs in once more at most.
  return go, function()
    local file = io.open(token)
    if file then
      same(file:read "a", "ghu_loopback\n")
      file:close()
    end
    adapter = adapter or new()
    assert(chatted(adapter))
    if shown > 2 then error("wrong answer: codes shown: " .. shown) end
    adapter:logout()
    same(io.open(token), nil)
    shown = 0
    assert(go())
    same(shown, 1)
    same(get "token", "ghu_loopback\n")
    return adapter:logout() == nil
  end
end

-- A connection of one's own to the provider: what is written, lines, bytes.
function turns.connection()
  local port = math.tointeger(tonumber(kit.base:match ":(%d+)"))
  local function go()
    local conn <close>, err = connect.open { host = "127.0.0.1", port = port }
    if not conn then return nil, err end
    local ok, bytes, line
    ok, err = conn:write "POST /text/v1/messages HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
    if not ok then return nil, err end
    line, err = conn:line()
    if not line then return nil, err end
    same(line, "HTTP/1.1 200 X")
    repeat
      line, err = conn:line()
      if not line then return nil, err end
    until line == ""
    bytes, err = conn:read(1)
    if not bytes then return nil, err end
    same(bytes, "{")
    return true
  end
  return go, go
end

-- An answer that is read while it comes: its records, and its body.
function turns.streamed()
  local call = { method = "POST", url = kit.base .. "text/v1/messages", body = '{"stream":true}' }
  local function read(f)
    local answer <close>, err = streamed.open(call)
    if not answer then return nil, err end
    same(answer.status, 200)
    return f(answer)
  end
  -- The next record; once more where there was no memory for its table: it must not be lost then.
  local function next_record(answer)
    local ok, record, err = pcall(answer.record, answer)
    if ok then return record, err end
    return answer:record()
  end
  local function all_of(answer)
    local list = {}
    while true do
      local record, err = next_record(answer)
      if err then return nil, err end
      if not record then return list end
      list[#list + 1] = record.data
    end
  end
  local function go()
    local list, body, err
    list, err = read(all_of)
    if not list then return nil, err end
    body, err = read(function(answer) return answer:body() end)
    if not body then return nil, err end
    local n = 0
    for data in body:gmatch "data: ([^\n]*)\n\n" do
      n = n + 1
      same(list[n], data)
    end
    same(#list, n)
    return true
  end
  return go, go
end

-- A store on Redis, whose connections several tasks share.
function turns.redis()
  local make = koine.store.redis
  local function read(store, key)
    local value, err = store:get(key)
    if not value then return nil, err end
    same(value, key)
    return true
  end
  local function go()
    local store <close> = make { url = "redis://127.0.0.1:" .. redis, pool = 2 }
    local ok, err = read(store, "first")
    if not ok then return nil, err end
    local all = {}
    koine.run(function()
      local tasks = {}
      for i = 1, 5 do tasks[i] = function() all[i] = table.pack(read(store, "key" .. i)) end end
      koine.gather(table.unpack(tasks))
    end)
    for i = 1, 5 do
      if not all[i][1] then return nil, all[i][2] end
    end
    return read(store, "last")
  end
  return go, go
end

-- Logs in without a wait, and echoes what it is asked. For the program, once.
function turns.setup()
  local function hand_over(where, body)
    local answer = assert(exchange.send { method = "POST", url = HERE .. github .. "/__koine/" .. where, body = body,
      headers = { ["content-type"] = "application/json" }, timeouts = { total = 60 } })
    same(answer.status, 200)
  end
  hand_over("copilot", '{"interval":0.0001}')
  hand_over("script", '"echo"')
end

return turns
