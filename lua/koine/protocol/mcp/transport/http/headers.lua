--- The headers of a request: what its era wants, and how a value is written that no header can say as it is.

local base64 = require "koine.data.base64"

local headers = {}

local ENCODED = "^=%?base64%?.*%?=$"

--- The text of a value (string, integer or boolean) in a header of MCP's. What is more than visible ASCII, spaces and
-- tabs, begins or ends with white space, or looks like encoded text goes as =?base64?…?=.
function headers.encode(value)
  if type(value) ~= "string" then return tostring(value) end
  local is_plain = not value:find "[^\t\x20-\x7E]" and not value:find "^[ \t]" and not value:find "[ \t]$"
    and not value:find(ENCODED)
  if is_plain then return value end
  return "=?base64?" .. base64(value) .. "?="
end

-- Adds headers to those that are there, of which one of the same name in any case goes.
local function add(all, name, value)
  for known in next, all do
    if known:lower() == name:lower() then
      all[known] = nil
      break
    end
  end
  all[name] = value
end

-- What the modern era repeats of the message.
local function add_mirrored(all, item)
  local about = item.about or {}
  if item.method then add(all, "Mcp-Method", item.method) end
  if about.name ~= nil then add(all, "Mcp-Name", headers.encode(about.name)) end
  for name, value in next, about.headers or {} do add(all, name, headers.encode(value)) end
end

--- The headers of a request of a transport: {name = value}. `request` has accept, item (the message as protocol/rpc
-- posts it, or nil) and last_id (of the record behind which a stream goes on, or nil); `authorization` is the value of
-- that header, or nil.
function headers.of(transport, request, authorization)
  local all, item = {}, request.item
  for name, value in next, transport.options.headers or {} do all[name] = value end
  add(all, "Accept", request.accept)
  if item then add(all, "Content-Type", "application/json") end
  if authorization then add(all, "Authorization", authorization) end
  if transport.version then add(all, "MCP-Protocol-Version", transport.version) end
  if transport.session then add(all, "Mcp-Session-Id", transport.session) end
  if request.last_id then add(all, "Last-Event-ID", request.last_id) end
  if item and transport.era == "modern" then add_mirrored(all, item) end
  return all
end

return headers
