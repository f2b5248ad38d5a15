--- Helpers of the specs of the loopback provider's Copilot endpoint.

local client = require "spec.support.raw_client"
local core = require "koine.core"

local copilot_endpoint = {}

--- The decoded body of an answer, and its status.
function copilot_endpoint.decoded(got) return core.decode(got.body), got.status end

--- Asks `server` for a Copilot token, with a GitHub token (the one that it knows when nil) and more headers.
function copilot_endpoint.swap(server, token, headers)
  return client.exchange(server, "GET", "/copilot_internal/v2/token",
    client.with({ authorization = "token " .. (token or "ghu_loopback"), accept = "application/json" }, headers or {}))
end

return copilot_endpoint
