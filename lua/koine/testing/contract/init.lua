--- The contract of adapters as a busted suite: it shows the author of an adapter that it can stand in for every other
-- one. In a spec file:
--
--   local server = assert(koine.testing.start())
--   koine.testing.contract.describe("my adapter", {
--     describe = describe, it = it, assert = assert, teardown = teardown,
--     new = function(opts)                             -- an adapter; opts: the constructor's options, nil for none
--       opts = opts or {}
--       opts.model, opts.base_url, opts.key = "m", server.url, "k"
--       return my_adapter(opts)
--     end,
--     script = function(answers) assert(server:script(answers)) end,      -- what it is answered next (koine.testing)
--     requests = function() return assert(server:requests()) end,     -- what it sent: array of {headers, body}, or nil
--     supports = { wire = true, errors = true, thinking = true, signatures = true, images = false },
--   })
--
-- With `live = true` instead of script and requests, the items that need no script run against whatever server `new`
-- talks to.

local check = require "koine.data.check"
local errors = require "koine.data.errors"
local kits = require "koine.testing.contract.kit"

local contract = {}

-- Per mode: the functions of a spec, true where it must have them.
local HOOKS = {
  scripted = { new = true, script = true, requests = false, unreachable = false },
  live = { new = true, unreachable = false, refused = false },
}

-- The abilities of an adapter unless its spec says otherwise.
local SUPPORTS = {
  wire = false,            -- it speaks HTTP to what `script` scripts: faults and raw bodies can be played
  errors = false,          -- `script` plays answers with `error` and `stream_error`
  thinking = true,         -- thinking blocks can be delivered
  thinking_option = true,  -- the option `thinking` changes the request
  thinking_levels = true,  -- … and "low" differs from "high"
  signatures = false,      -- signatures and redacted thinking go back
  blocks = false,          -- an assistant's message goes back as blocks, in order
  images = true,           -- an image can be sent
  exact_ids = true,        -- ids of tool calls go back unchanged
  system_as_user = false,  -- the system prompt travels as a message of the user
  stream_usage = true,     -- streamed answers say their usage
  answer_model = true,     -- answers say which model gave them
  refusal = true,          -- a stop reason of its own for a refusal
  refusal_words = true,    -- … and a way to say it that is none of an answer
  sensitive = true,        -- … and for a filter
  tools = true,            -- live: tools can be offered
  output = true,           -- answers can have a shape: the option `output`
}

local FLAGS = {}
for flag in pairs(SUPPORTS) do FLAGS[flag] = check.boolean end
FLAGS = check.default(check.record(FLAGS), {})

local function check_spec(name, spec)
  check.string(name, "name")
  if type(spec) ~= "table" then check.refuse("contract", "table", spec) end
  if spec.live ~= nil then check.boolean(spec.live, "contract.live") end
  local mode = spec.live and "live" or "scripted"
  for _, hook in ipairs { "new", "script", "requests", "unreachable", "refused" } do
    local given, required = spec[hook], HOOKS[mode][hook]
    if required == nil and given ~= nil then
      errors.argument("contract." .. hook, "nothing in a suite that is " .. mode, given)
    end
    if required or given ~= nil then check.func(given, "contract." .. hook) end
  end
  if spec.embed ~= nil then check.table(spec.embed, "contract.embed") end
  return FLAGS(spec.supports, "contract.supports")
end

-- Registers the items that need a script, and those that need none.
local function scripted(kit)
  local identity = require "koine.testing.contract.identity"
  kit.teardown(identity.release)
  identity.guard(kit)
  require "koine.testing.contract.answers"(kit)
  require "koine.testing.contract.requests"(kit)
  require "koine.testing.contract.failures"(kit)
  require "koine.testing.contract.output"(kit)
  require "koine.testing.contract.embed"(kit)
  identity.items(kit)
end

-- Registers the items that need no script.
local function live(kit)
  require "koine.testing.contract.live"(kit)
  require "koine.testing.contract.identity".items(kit)
end

--- Registers the suite under `name`. The table holds
--   new(opts)        makes an adapter; opts are options of its constructor
--   script(answers)    what the adapter is answered next, in this order (the vocabulary of koine.testing)
--   requests()       the requests seen so far, oldest first: array of {headers, body = bytes}; absent: not checked
--   embed            table: options of embed(), such as its model, where the adapter makes vectors; absent: not tried
--   unreachable(opts)  an adapter whose server refuses connections; absent: not tried
--   live             true: what `new` talks to is a server that answers as it likes. The items that need no script run:
--                    grammar of the deltas, usage, cancelling, errors, round trip, identity. Without script and
--                    requests; all connections are allowed
--   refused(opts)    live: an adapter that the server refuses with a status (wrong key, URL or model); absent: not
--                    tried
--   supports         what this adapter can do, by name (wire, errors, thinking, …: see SUPPORTS); items it cannot do
--                    are left out
--   describe, it, assert, teardown   busted's; absent: the globals of these names
-- While a scripted suite runs, connections to anything but this machine fail (koine.testing.offline).
-- Raises an ArgumentError when one of these is missing, unknown, or belongs to the other mode.
function contract.describe(name, spec)
  local flags = check_spec(name, spec)
  local made = { supports = {}, embed = spec.embed }
  for hook in pairs(HOOKS[spec.live and "live" or "scripted"]) do made[hook] = spec[hook] end
  for flag, default in pairs(SUPPORTS) do
    local given = flags[flag]
    if given == nil then given = default end
    made.supports[flag] = given
  end
  for _, word in ipairs { "describe", "it", "assert", "teardown" } do
    made[word] = spec[word] or _G[word]
    if made[word] == nil then errors.argument("contract." .. word, "busted's " .. word, nil) end
  end
  local kit = kits.make(made)
  made.describe("contract: " .. name, function() (spec.live and live or scripted)(kit) end)
end

return contract
