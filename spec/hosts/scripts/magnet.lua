-- magnet.lua: for lighttpd's mod_magnet: /chat?TEXT, /stream?TEXT, /late?SECONDS, /all?TEXT. mod_magnet runs this chunk
-- for each request, in one Lua state for each worker and script: what is to last is kept in a module, as by require.
-- luacheck: globals lighty
local koine = require "koine"

local kept = package.loaded["spec.magnet"]
if not kept then
  kept = { served = 0, adapter = koine.anthropic { model = "claude-sonnet-4-5", key = "k", retry = false,
    base_url = os.getenv "KOINE_URL" } }
  package.loaded["spec.magnet"] = kept
end
kept.served = kept.served + 1

local paths = {}

function paths.chat(text)
  local response, err = kept.adapter:chat(text)
  if not response then return 502, tostring(err) end
  return 200, response:text()
end

function paths.stream(text)
  local pieces = {}
  for delta in kept.adapter:stream(text) do
    if delta.type == "text_delta" then pieces[#pieces + 1] = delta.text end
  end
  return 200, ("%d pieces: %s"):format(#pieces, table.concat(pieces))
end

-- A deadline of its own: the worker is free again after it, whatever the provider does.
function paths.late(seconds)
  local response, err = koine.timeout(tonumber(seconds), kept.adapter.chat, kept.adapter, "Hello?")
  if not response then return err.kind == "timeout" and 504 or 502, tostring(err) end
  return 200, response:text()
end

-- Three questions at once, in the time of one.
function paths.all(text)
  local a, b, c = koine.gather(function() return assert(kept.adapter:chat(text .. "1")):text() end,
    function() return assert(kept.adapter:chat(text .. "2")):text() end,
    function() return assert(kept.adapter:chat(text .. "3")):text() end)
  return 200, table.concat({ a, b, c }, " ")
end

local request = lighty.r.req_attr
local status, body = paths[request["uri.path"]:sub(2)](request["uri.query"])
lighty.r.resp_header["content-type"] = "text/plain"
lighty.r.resp_header["x-served"] = tostring(kept.served)
lighty.r.resp_body.set(body)
return status
