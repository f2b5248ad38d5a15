--- The tools that a server lists as tools for models. Whatever a server lists, this gives tools and warnings: what
-- cannot be a tool, breaks a rule of the protocol's, or changed since it was pinned, is left out with one warning.
-- A warning is {code, field = the tool's full name, message}, as those of responses.

local agent_tool = require "koine.agent.tool"
local approval = require "koine.protocol.mcp.tools.approval"
local call = require "koine.protocol.mcp.tools.call"
local check = require "koine.data.check"
local content = require "koine.protocol.mcp.tools.content"
local core = require "koine.core"
local description = require "koine.protocol.mcp.tools.description"
local errors = require "koine.data.errors"
local header = require "koine.protocol.mcp.tools.header"
local name = require "koine.protocol.mcp.tools.name"
local parts = require "koine.data.schema.parts"
local pins = require "koine.protocol.mcp.tools.pins"
local schema = require "koine.data.schema"
local search = require "koine.protocol.mcp.tools.search"
local cut = require("koine.data.text").cut

local tools = {}

local SHOWN_MAX = 128 -- bytes of a name in a warning
local LEVELS = 8      -- of tables around a schema in a request

--- The blocks of a result (content.lua), the hints of a tool (approval.lua), pins (pins.lua); what header.lua has.
tools.blocks, tools.hints, tools.pins, tools.header = content.blocks, approval.hints, pins.open, header
--- The words of the option `approval`.
tools.approvals = approval.words

-- Warnings -----------------------------------------------------------------------------------------------------------

-- What a server said, as a warning may show it.
local function shown(text)
  local kept, was_cut = cut(text, SHOWN_MAX)
  return core.error_line(kept) .. (was_cut and "…" or "")
end

-- The function that passes warnings on.
local function warner(opts)
  return function(warning)
    warning.field = shown(warning.field)
    warning.message = core.error_line(("%s: %s: %s"):format(opts.server, warning.field, warning.message))
    opts.warn(warning)
  end
end

local function left_out(warn, full, why)
  warn { code = "tool_left_out", field = full, message = "left out: " .. why }
end

-- What was listed ----------------------------------------------------------------------------------------------------

local function is_object(value) return type(value) == "table" and getmetatable(value) ~= core.array_mt end

-- Whether a schema refers to another document. Nothing is fetched, so nothing is known of it, here or at a provider.
local function has_foreign_reference(s)
  if type(s) ~= "table" then return false end
  local reference = s["$ref"]
  return type(reference) == "string" and reference:sub(1, 1) ~= "#" or parts.each(s, has_foreign_reference) or false
end

-- Why a schema cannot be that of a tool, or nil.
local function schema_problem(s, field)
  local ran, err = pcall(schema.check, s, field)
  if check.is_memory(err) then error(err, 0) end
  if not ran then return errors.words(err) end
  if has_foreign_reference(s) then return field .. ": a $ref to another document, which is never fetched" end
  local unfit = parts.unfit(s, LEVELS)
  return unfit and ("%s: %s"):format(field, unfit)
end

-- The schema of a tool's arguments, which are an object also where a server forgets to say so; or nil, why.
local function parameters_of(listed)
  local given = listed.inputSchema
  if given == nil or given == core.null then given = {} end
  if not is_object(given) then return nil, "inputSchema is no object" end
  if given.type == nil then
    local made = { type = "object" }
    for key, value in next, given do made[key] = value end
    given = made
  end
  if given.type ~= "object" then return nil, 'the type of inputSchema is not "object"' end
  local problem = schema_problem(given, "inputSchema")
  if problem then return nil, problem end
  return given
end

-- Collects what is needed of an entry, {listed, name, parameters, plan, output_schema}; or nil after a warning.
local function read(listed, opts, warn)
  local full = is_object(listed) and listed.name
  if type(full) ~= "string" or full == "" then return left_out(warn, "?", "it has no name") end
  local parameters, why = parameters_of(listed)
  if not parameters then return left_out(warn, full, why) end
  local plan
  if opts.headers then
    plan, why = header.plan(parameters)
    if not plan then return left_out(warn, full, why) end
  end
  local output = listed.outputSchema
  if not is_object(output) then
    output = nil
  elseif schema_problem(output, "outputSchema") then
    warn { code = "output_schema", field = full, message = schema_problem(output, "outputSchema") }
    output = nil
  end
  return { listed = listed, name = full, parameters = parameters, plan = plan, output_schema = output }
end

-- The entries of all that can be tools, in the order of the list.
local function read_all(listed, opts, warn)
  local entries, seen = {}, {}
  for _, one in ipairs(listed) do
    local entry = read(one, opts, warn)
    if entry and seen[entry.name] then
      left_out(warn, entry.name, "listed twice")
    elseif entry then
      seen[entry.name], entries[#entries + 1] = true, entry
    end
  end
  return entries, seen
end

-- Choosing -----------------------------------------------------------------------------------------------------------

-- The names of an array as a set, nil for none; warns of those that no tool has.
local function set_of(names, option, seen, warn)
  if not names then return nil end
  local set = {}
  for _, full in ipairs(names) do
    set[full] = true
    if not seen[full] then
      warn { code = "unknown_tool", field = full, message = ("in %s, but the server has no such tool"):format(option) }
    end
  end
  return set
end

-- The names of the entries that differ from their pins, as a set; or nil, err.
local function compare(entries, opts)
  if not opts.pins then return {} end
  local listed = {}
  for i, entry in ipairs(entries) do listed[i] = entry.listed end
  return opts.pins:check(opts.server, listed)
end

-- The entries that are wanted and not withheld; or nil, err.
local function choose(entries, seen, opts, warn)
  local only, except = set_of(opts.only, "only", seen, warn), set_of(opts.except, "except", seen, warn) or {}
  if opts.timeouts then set_of(check.names(opts.timeouts), "timeouts", seen, warn) end
  local changed, err = compare(entries, opts)
  if not changed then return nil, err end
  local chosen = {}
  for _, entry in ipairs(entries) do
    local wanted = (not only or only[entry.name]) and not except[entry.name]
    if wanted and changed[entry.name] then
      warn { code = "tool_changed", field = entry.name,
        message = "withheld: it changed since it was pinned; client:accept(name) accepts the change" }
    elseif wanted then
      chosen[#chosen + 1] = entry
    end
  end
  return chosen
end

-- Making -------------------------------------------------------------------------------------------------------------

local function make(entry, made_name, opts, warn)
  local listed = entry.listed
  local hints = approval.hints(listed.annotations, opts.trusted)
  local sent = { server = opts.server, name = entry.name, plan = entry.plan, hints = hints,
    output_schema = entry.output_schema, timeout = opts.timeouts and opts.timeouts[entry.name] }
  local made = agent_tool.of_checked { name = made_name, description = description.of(listed, opts.description_max),
    parameters = entry.parameters, run = call.run(sent, { send = opts.send, words = opts.words, warn = warn }) }
  made.mcp = { server = opts.server, name = entry.name, annotations = listed.annotations,
    output_schema = listed.outputSchema }
  local needed = approval.needed(opts.approval or "none", made, opts.trusted)
  made.needs_approval = needed or nil
  return made
end

-- Makes a tool, or warns; what koine.tool refuses is no reason to raise.
local function try(warn, entry, ...)
  local ran, made = pcall(make, entry, ...)
  if ran then return made end
  if check.is_memory(made) then error(made, 0) end
  left_out(warn, entry.name, errors.words(made))
end

-- What stands before the names: a string, or false.
local function prefix_of(opts)
  if opts.prefix == nil or opts.prefix == true then return opts.server end
  return opts.prefix
end

--- The tools that a server lists, as an array of koine.tool in the list's order; or nil, err where the pins cannot be
-- read or written. `listed` is the array of decoded entries of tools/list. `opts`:
--   server           the server's key in the configuration
--   prefix           what stands before the names: a string; true or nil: the key; false: nothing
--   only, except     arrays of full names: which tools; nil: all
--   timeouts         {full name = seconds}, which `send` finds as entry.timeout; nil: none
--   trusted          whether the server's annotations are believed
--   approval         which calls need approval: see approval.lua; nil: "none"
--   pins             what `tools.pins` returned, nil for none
--   headers          whether x-mcp-header counts: the modern protocol over HTTP
--   description_max  bytes of a description, 4096
--   send             function(entry, arguments_json, ctx, headers) → what client:call returns; `entry` is {server,
--                    name, plan, hints, output_schema, timeout}, `ctx` the tool's (or nil), `headers` {name = value}
--                    or nil
--   words            function(err) → what the model is told of an error
--   warn             function(warning)
-- Each tool has `mcp` = {server, name, annotations, output_schema}, which is not sent. Never raises for what a server
-- may list.
function tools.build(listed, opts)
  local warn = warner(opts)
  local entries, seen = read_all(listed, opts, warn)
  local fulls = {}
  for i, entry in ipairs(entries) do fulls[i] = entry.name end
  local names = name.assign(fulls, opts.server, prefix_of(opts))
  local chosen, err = choose(entries, seen, opts, warn)
  if not chosen then return nil, err end
  local made = core.array {}
  for _, entry in ipairs(chosen) do made[#made + 1] = try(warn, entry, names[entry.name], opts, warn) end
  return made
end

--- Two tools in place of those, that search and call them: see search.lua. `opts` has server, prefix, approval and
-- words as above, and list() → what `build` returns.
function tools.search(opts)
  return search.tools { server = opts.server, prefix = prefix_of(opts), approval = opts.approval, words = opts.words,
    list = opts.list }
end

return tools
