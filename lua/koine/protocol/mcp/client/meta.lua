--- What every request of the modern era says of us, and what a session of the legacy era says once.

local meta = {}

local PREFIX = "io.modelcontextprotocol/"

--- The name of a field of MCP's own in `_meta`.
function meta.name(field) return PREFIX .. field end

--- Who we are.
meta.CLIENT = { name = "koine", version = require "koine.data.version" }

--- The `_meta` of a request: of the modern era with the version (nil in the legacy one, which said all that before),
-- our capabilities (a table) and the level of log messages that is wanted (or nil); in both with the progress token
-- and the traceparent, or nil. nil where nothing is to be said.
function meta.of_request(version, capabilities, log_level, token, traceparent)
  local said = { progressToken = token, traceparent = traceparent }
  if version then
    said[PREFIX .. "protocolVersion"] = version
    said[PREFIX .. "clientInfo"] = meta.CLIENT
    said[PREFIX .. "clientCapabilities"] = capabilities
    said[PREFIX .. "logLevel"] = log_level
  end
  return next(said) and said or nil
end

--- A field of MCP's own in the `_meta` of a result or of params, or nil.
function meta.field(value, field)
  local said = type(value) == "table" and value._meta
  return type(said) == "table" and said[PREFIX .. field] or nil
end

return meta
