--- Two tools in place of a server's many: one that searches them, and one that calls what was found. What a model is
-- sent then does not depend on the server's list, however long that is and however often it changes.

local agent_tool = require "koine.agent.tool"
local core = require "koine.core"
local name = require "koine.protocol.mcp.tools.name"

local search = {}

local FOUND_MAX = 10   -- tools in an answer
local NAMES_MAX = 200  -- names in an answer that found nothing
local WORDS_MAX = 20   -- of a query

-- How well a tool fits the words: a name counts more than a description.
local function score(tool, words)
  local title, text, total = tool.mcp.name:lower(), tool.description:lower(), 0
  for _, word in ipairs(words) do
    if title:find(word, 1, true) then total = total + 3 end
    if text:find(word, 1, true) then total = total + 1 end
  end
  return total
end

-- The words of a query; a single letter of ASCII is none.
local function words_of(query)
  local words = {}
  for word in query:lower():gmatch "[^%s%p]+" do
    if #word > 1 and #words < WORDS_MAX then words[#words + 1] = word end
  end
  return words
end

-- The tools that fit best, in the list's order where they fit alike.
local function best(tools, query)
  local words, found = words_of(query), {}
  for i, one in ipairs(tools) do
    local points = score(one, words)
    if points > 0 then found[#found + 1] = { tool = one, points = points, place = i } end
  end
  table.sort(found, function(a, b)
    if a.points ~= b.points then return a.points > b.points end
    return a.place < b.place
  end)
  return found
end

local function names_of(tools)
  local names = core.array {}
  for i = 1, math.min(#tools, NAMES_MAX) do names[i] = tools[i].mcp.name end
  return names
end

local function find(tools, wanted)
  for _, one in ipairs(tools or {}) do
    if one.mcp.name == wanted then return one end
  end
end

local function search_run(opts)
  return function(args)
    local tools, err = opts.list()
    if not tools then return opts.words(err), { is_error = true } end
    local found, shown = best(tools, args.query), core.array {}
    for i = 1, math.min(#found, FOUND_MAX) do
      local one = found[i].tool
      shown[i] = { name = one.mcp.name, description = one.description, arguments = one.parameters }
    end
    if #found == 0 then return { found = shown, total = 0, names = names_of(tools), tools = #tools } end
    return { found = shown, total = #found }
  end
end

local function call_run(opts)
  return function(args, ctx)
    local tools, err = opts.list()
    if not tools then return opts.words(err), { is_error = true } end
    local one, arguments = find(tools, args.name), args.arguments or {}
    if not one then return ("unknown tool %q; search for it"):format(args.name), { is_error = true } end
    local problem = agent_tool.problem({ one }, { name = one.name, arguments = arguments })
    if problem then return problem, { is_error = true } end
    local own = {}
    for field, value in next, ctx or {} do own[field] = value end
    own.call = own.call and { id = own.call.id, name = one.name } or nil -- its text is not that of these arguments
    return one.run(arguments, own)
  end
end

-- Whether the tool that a call is meant for needs approval; yes where that is not known.
local function needs_approval(opts)
  return function(args)
    local one = find(opts.list(), args.name)
    if not one then return true end
    if type(one.needs_approval) ~= "function" then return one.needs_approval or false end
    return one.needs_approval(args.arguments or {})
  end
end

--- Two tools, an array of koine.tool, for the tools of a server. `opts`:
--   server    the server's key
--   prefix    what stands before the names `search` and `call`: a string, or false for nothing
--   list      function() → the server's tools as tools.build makes them, or nil, err: asked each time
--   words     function(err) → what the model is told of an error
--   approval  as for tools.build
function search.tools(opts)
  local names = name.assign({ "search", "call" }, opts.server, opts.prefix)
  local text, object = { type = "string" }, { type = "object" }
  local made = core.array { agent_tool { name = names.search, run = search_run(opts),
    description = ("Searches the tools of the server %s by words. Says their names, what they do and their arguments.")
      :format(opts.server), parameters = { type = "object", properties = { query = text },
      required = core.array { "query" } } },
    agent_tool { name = names.call, run = call_run(opts),
      description = ("Calls a tool of the server %s that %s has found."):format(opts.server, names.search),
      parameters = { type = "object", properties = { name = text, arguments = object },
        required = core.array { "name", "arguments" } },
      needs_approval = opts.approval ~= nil and opts.approval ~= "none" and needs_approval(opts) or nil } }
  made[1].mcp, made[2].mcp = { server = opts.server, name = "search" }, { server = opts.server, name = "call" }
  return made
end

return search
