--- The version of the protocol that Koine speaks, and the words in which a message names both sides.

local errors = require "koine.data.errors"
local version = require "koine.data.version"

--- The protocol's version.
local acp = { PROTOCOL = 1 }

--- What Koine says of itself: {name, title, version}.
function acp.info() return { name = "koine", title = "Koine", version = version } end

--- The error for another side that speaks `theirs` (any value).
function acp.refuse(theirs)
  return errors.new { kind = "protocol", code = "version", retryable = false,
    message = ("ACP: the other side speaks version %s of the protocol, Koine speaks %d"):format(
      math.type(theirs) == "integer" and tostring(theirs) or "unknown", acp.PROTOCOL) }
end

return acp
