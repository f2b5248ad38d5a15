--- One plain HTTP exchange, waited for: lists, counts, log-ins.

local core = require "koine.core"
local transport = require "koine.net.transport"
local wait = require "koine.task.wait"

local http = {}

--- Sends `call` (the core's request table: method, url, headers, body, timeouts, limits, proxy, ca_file, secrets,
-- hold_body; and transport, on_request, on_response) and waits for the answer: {status, headers, body, url}, whatever
-- the status; nil, err when there is none.
-- With hold_body the body is no string: the caller closes it. `figures` (table, nil: none) gets the request's figures,
-- whatever comes of it.
function http.send(call, figures)
  local ready, failure = transport.begin(call)
  if not ready then return nil, failure end
  local watch <close> = call.watch
  local request <close>, err = core.request(core.engine(), call)
  if not request then
    if watch then watch:finish(err) end
    return nil, err
  end
  local answer
  repeat
    local _
    answer, err = request:poll()
    if watch then watch:drain(err) end
    if answer == false then _, err = wait.park(request) end
  until answer or err
  if figures then
    for name, value in next, request:figures() or {} do figures[name] = value end
  end
  if watch then watch:finish(err) end
  if not answer then return nil, err end
  answer.url = call.url
  return answer
end

return http
