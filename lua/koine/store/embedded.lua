--- What the engines have in common that keep a store's state in this process: memory and files.

local version = require "koine.data.version"

local embedded = {}

--- The operation describe of an engine: its name, what a write survives, whose clock counts unless one was given
-- (self.given).
function embedded.describe(name, durable, clock)
  return function(self)
    return { name = name, version = version, durable = durable, clock = self.given and "given" or clock, warnings = {} }
  end
end

--- The operation close.
function embedded.close(self)
  self.open = false
  self.watchers:close()
end

return embedded
