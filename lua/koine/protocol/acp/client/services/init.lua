--- What an agent may ask of its client besides permissions: files and terminals, where there is an executor, and
-- questions to the user, where there is a function for them. Only what is there is declared.

local elicitation = require "koine.protocol.acp.client.services.elicitation"
local files = require "koine.protocol.acp.client.services.files"
local terminals = require "koine.protocol.acp.client.services.terminals"

local services = {}

local function set_of(list)
  local set = {}
  for _, name in ipairs(list) do set[name] = true end
  return set
end

-- What the executor of the options allows: names of tools as keys; empty without an executor.
local function allowed(options) return set_of(options.executor and options.executor.names or {}) end

--- The capabilities of a client with these options (options.lua), as initialize declares them.
function services.capabilities(options)
  local can = allowed(options)
  return { fs = { readTextFile = can.read_file == true, writeTextFile = can.write_file == true },
    terminal = can.bash == true, elicitation = options.on_elicit and { form = {}, url = {} } or nil }
end

--- The handlers of a link, by method; those that were not declared are not there.
function services.requests(link)
  local can, requests = allowed(link.options), {}
  if can.read_file then requests["fs/read_text_file"] = files.read(link) end
  if can.write_file then requests["fs/write_text_file"] = files.write(link) end
  if can.bash then
    for method, handler in next, terminals.handlers(link) do requests["terminal/" .. method] = handler end
  end
  if link.options.on_elicit then requests["elicitation/create"] = elicitation.handler(link) end
  return requests
end

--- Ends what a session (its id; nil: every one) left running.
function services.leave(link, id) terminals.leave(link, id) end

return services
