--- The option `transport`: an object that may stand in the network's place, below retries. One method is asked for:
--   transport:begin(call) → a koine.recording (core.recording): one that was made from an answer is played, and nothing
--                           is sent; an empty one gets a copy of the answer that comes. false: neither. nil, err: the
--                           request fails with that error
-- It is called once for each request that goes out, in the order in which they do, just before. `call` is the core's
-- request table ({method, url, headers, body, secrets, timeouts, …}), which it must neither change nor keep.

local check = require "koine.data.check"
local getenv = require "koine.data.host.getenv"

local transport = {}

local debugs = (getenv "KOINE_DEBUG" or "") ~= "" -- every request is looked at; else few programs load net/raw

--- Checks the option: an object with a method begin. Raises an ArgumentError.
transport.option = check.method("begin", "object with a method begin")

--- Whether the requests of a call with these settings go out and come back with nobody in between, nor looking.
function transport.is_direct(settings)
  return not (debugs or settings.transport or settings.on_request or settings.on_response)
end

--- Asks the transport of a request table (`call.transport`; nil: none) and sets call.recording, and call.watch where
-- somebody looks at the request as it goes out (net/raw): true, or nil, err.
function transport.begin(call)
  call.recording = nil
  if call.transport then
    local recording, err = call.transport:begin(call)
    if recording == nil then return nil, err end
    call.recording = recording or nil
  end
  call.watch, call.view = nil, nil
  if debugs or call.on_request or call.on_response then call.watch = require("koine.net.raw").begin(call) end
  return true
end

return transport
