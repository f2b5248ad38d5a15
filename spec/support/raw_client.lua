--- A client of raw sockets for the specs of koine.testing: they do not depend on Koine's own HTTP.

local core = require "koine.core"
local socket = require "socket"

local client = {}

--- The headers that each endpoint wants.
client.KEYS = { ["content-type"] = "application/json", ["x-api-key"] = "k-secret",
                ["anthropic-version"] = "2023-06-01" }
client.BEARER = { ["content-type"] = "application/json", authorization = "Bearer b-secret" }

--- A connected socket.
function client.connect(server)
  local tcp = assert(socket.tcp())
  tcp:settimeout(20)
  assert(tcp:connect("127.0.0.1", server.port))
  return tcp
end

--- The request line and headers, with a content-length when there is a body.
function client.head(method, path, headers, body)
  local lines = { ("%s %s HTTP/1.1"):format(method, path), "host: 127.0.0.1" }
  for name, value in pairs(headers or {}) do
    lines[#lines + 1] = name .. ": " .. value
  end
  if body then
    lines[#lines + 1] = "content-length: " .. #body
  end
  return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

--- Reads one answer by its framing: {status, headers, body, chunks (array), err (why it was cut short)}.
function client.receive(tcp)
  local answer = { headers = {}, chunks = {}, body = "" }
  local line, err = tcp:receive("*l")
  if not line then
    answer.err = err
    return answer
  end
  answer.status = tonumber(line:match("^HTTP/1.1 (%d+)"))
  for header in function() return tcp:receive("*l") end do
    if header == "" then
      break
    end
    local name, value = header:match("^([^:]+): (.*)$")
    answer.headers[name] = value
  end
  if answer.headers["transfer-encoding"] == "chunked" then
    while true do
      local size = tcp:receive("*l")
      if not size then
        answer.err = "cut"
        break
      end
      local chunk = assert(tcp:receive(tonumber(size, 16) + 2))
      if size == "0" then
        break
      end
      answer.chunks[#answer.chunks + 1] = chunk:sub(1, -3)
    end
    answer.body = table.concat(answer.chunks)
  else
    local length = tonumber(answer.headers["content-length"])
    if length ~= 0 then -- LuaSocket waits for a byte even when none is asked for
      local body, why, partial = tcp:receive(length)
      answer.body, answer.err = body or partial, why
    end
  end
  return answer
end

--- One request on a connection of its own.
function client.exchange(server, method, path, headers, body)
  local tcp = client.connect(server)
  assert(tcp:send(client.head(method, path, headers, body) .. (body or "")))
  local answer = client.receive(tcp)
  tcp:close()
  return answer
end

--- The text of a small request with the fields put over it; null takes one away.
function client.request_body(body, fields)
  for key, value in pairs(fields or {}) do
    if value == core.null then
      value = nil
    end
    body[key] = value
  end
  return core.encode(body)
end

--- Asks the Anthropic endpoint.
function client.messages(server, fields, headers)
  local body = { model = "m", max_tokens = 100, messages = { { role = "user", content = "Hi" } } }
  return client.exchange(server, "POST", "/v1/messages", headers or client.KEYS, client.request_body(body, fields))
end

--- Asks the Chat endpoint.
function client.completions(server, fields, headers)
  local body = { model = "m", messages = { { role = "user", content = "Hi" } } }
  return client.exchange(server, "POST", "/v1/chat/completions", headers or client.BEARER,
    client.request_body(body, fields))
end

--- The decoded data of every event of an SSE body, "[DONE]" as it is.
function client.events(body)
  local list = {}
  for data in body:gmatch("data: (.-)\n\n") do
    list[#list + 1] = data == "[DONE]" and data or assert(core.decode(data))
  end
  return list
end

--- Returns Anthropic's stream, put together as the plain answer would say it.
function client.assemble_messages(body)
  local message
  for _, event in ipairs(client.events(body)) do
    local block = message and message.content[(event.index or 0) + 1]
    if event.type == "message_start" then
      message = event.message
    elseif event.type == "content_block_start" then
      message.content[event.index + 1] = event.content_block
    elseif event.type == "content_block_delta" then
      local delta = event.delta
      if delta.type == "input_json_delta" then
        block.json = (block.json or "") .. delta.partial_json
      elseif delta.type == "signature_delta" then
        block.signature = delta.signature
      else
        local key = delta.type:match("^(.*)_delta$")
        block[key] = block[key] .. delta[key]
      end
    elseif event.type == "content_block_stop" and block.json then
      block.input = block.json ~= "" and core.decode(block.json) or block.input
      block.json = nil
    elseif event.type == "message_delta" then
      for key, value in pairs(event.delta) do
        message[key] = value
      end
      message.usage = event.usage
    end
  end
  return message
end

local function append(into, delta)
  for key, value in pairs(delta) do
    if type(value) == "string" and key ~= "role" and key ~= "name" then
      into[key] = (type(into[key]) == "string" and into[key] or "") .. value
    elseif type(value) ~= "table" then
      into[key] = into[key] == nil and value or into[key]
    end
  end
end

--- Returns a chat stream, put together: message, finish_reason, usage, done.
function client.assemble_completion(body)
  local message, finish, usage, done = {}, nil, nil, false
  for _, event in ipairs(client.events(body)) do
    if event == "[DONE]" then
      done = true
    elseif event.choices[1] then
      local choice = event.choices[1]
      append(message, choice.delta)
      for _, call in ipairs(choice.delta.tool_calls or {}) do
        message.tool_calls = message.tool_calls or {}
        local known = message.tool_calls[call.index + 1] or { ["function"] = {} }
        message.tool_calls[call.index + 1] = known
        known.id, known.type = known.id or call.id, known.type or call.type
        append(known["function"], call["function"])
      end
      finish = choice.finish_reason ~= core.null and choice.finish_reason or finish
    else
      usage = event.usage
    end
  end
  return message, finish, usage, done
end

--- Returns the server's record of the last request.
function client.last_request(server)
  local list = assert(server:requests())
  return list[#list]
end

--- A copy of an answer with other fields.
function client.with(answer, fields)
  local copy = {}
  for key, value in pairs(answer) do
    copy[key] = value
  end
  for key, value in pairs(fields) do
    copy[key] = value
  end
  return copy
end

return client
