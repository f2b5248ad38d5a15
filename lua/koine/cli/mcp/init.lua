--- Shows what the servers of a configuration offer, or calls one of their tools.

local failure = require "koine.cli.failure"
local json = require "koine.cli.json"
local koine = require "koine"
local servers = require "koine.cli.mcp.servers"
local terminal = require "koine.cli.terminal"

local mcp = {}

local NAME, DESCRIPTION = 24, 90 -- characters of a column

-- Lists --------------------------------------------------------------------------------------------------------------

-- The text as one line of at most `max` characters.
local function line_of(text, max)
  local line = text:match "[^\r\n]*%S[^\r\n]*" or ""
  line = line:gsub("%c+", " "):gsub("^%s+", "")
  local stop = utf8.offset(line, max + 1)
  return stop and stop <= #line and line:sub(1, stop - 1) .. "…" or line
end

local function tools_of(tools, server)
  local own = koine.array {}
  for _, tool in ipairs(tools) do
    if tool.mcp.server == server then own[#own + 1] = tool end
  end
  return own
end

local function write(group, tools)
  for _, server in ipairs(group.names) do
    local client = group.clients[server]
    if client then
      terminal.out(("%s (%s %s)\n"):format(line_of(server, DESCRIPTION), client.era, line_of(client.version, NAME)))
      for _, tool in ipairs(tools_of(tools, server)) do
        local name = line_of(tool.mcp.name, DESCRIPTION)
        local blanks = (" "):rep(NAME - (utf8.len(name) or #name))
        terminal.out(("  %s%s  %s\n"):format(name, blanks, line_of(tool.description or "", DESCRIPTION)))
      end
    end
  end
end

local function as_json(group, tools)
  local list = koine.array {}
  for i, server in ipairs(group.names) do
    local client, err = group.clients[server], group.failed[server]
    local entry = { name = server, error = err and koine.errors.words(err), tools = koine.array {} }
    if client then entry.era, entry.version, entry.server = client.era, client.version, client.server end
    for _, tool in ipairs(tools_of(tools, server)) do
      table.insert(entry.tools, { name = tool.mcp.name, description = tool.description, parameters = tool.parameters,
        annotations = tool.mcp.annotations, output_schema = tool.mcp.output_schema })
    end
    list[i] = entry
  end
  return json.value { servers = list }
end

local function list(args)
  local group <close> = servers.load(args.file, nil, args.timeout)
  local tools = servers.start(group)
  if args.json then terminal.out(as_json(group, tools) .. "\n") else write(group, tools) end
  return servers.say_failures(group) and failure.FAILED or 0
end

-- Calls --------------------------------------------------------------------------------------------------------------

-- The server and the tool that a word names: a server's name may hold a slash, the longest that fits counts.
local function target_of(group, word)
  local server
  for _, name in ipairs(group.names) do
    if word:sub(1, #name + 1) == name .. "/" and #name >= #(server or "") then server = name end
  end
  local tool = server and word:sub(#server + 2) or ""
  if tool ~= "" then return server, tool end
  failure.fail(failure.WRONG_USE, "%s: SERVER/TOOL expected; the servers are %s", word,
    table.concat(group.names, ", "))
end

-- The text of an item of a result; nil for what is none.
local function text_of(item)
  if type(item) ~= "table" then return nil end
  local resource = type(item.resource) == "table" and item.resource or {}
  for _, text in ipairs { item.type == "text" and item.text or false, resource.text or false,
    item.type == "resource_link" and item.uri or false } do
    if type(text) == "string" then return text end
  end
end

-- The texts of a result, an array; says what there is besides.
local function texts_of(result, called)
  local texts = {}
  for _, item in ipairs(result.content) do
    local text = text_of(item)
    if text then
      texts[#texts + 1] = text
    else
      terminal.say("%s: %s left out; --json writes all", called, type(item) == "table" and item.type or "an item")
    end
  end
  if #result.content == 0 and result.structured ~= nil then
    texts[1] = json.value(result.structured, terminal.output)
  end
  return texts
end

-- Connects to one server of the group only: a client.
local function connect(group, options, name)
  if not options then error(group.failed[name], 0) end
  terminal.progress("waiting for " .. name)
  local client, err = koine.mcp.connect(options)
  return client or error(err, 0)
end

local function call(args)
  local options = {}
  local group <close> = servers.load(args.file, function(name, given) options[name] = given end)
  local server, tool = target_of(group, args.tool)
  if options[server] then options[server].timeout = args.timeout or options[server].timeout end
  local client <close> = connect(group, options[server], server)
  terminal.progress("waiting for " .. args.tool)
  local result, err = client:call(tool, args.arguments or "{}", { on_progress = function(progress)
    terminal.progress(progress.message or "waiting for " .. args.tool)
  end })
  if not result then error(err, 0) end
  if args.json then
    terminal.out(json.value(result) .. "\n")
    return result.is_error and failure.FAILED or 0
  end
  local texts = texts_of(result, args.tool)
  if result.is_error then failure.fail(failure.FAILED, "%s: %s", args.tool, table.concat(texts, "\n")) end
  for _, text in ipairs(texts) do
    terminal.out(text)
    terminal.end_line()
  end
  return 0
end

--- The command `mcp`: the exit code.
function mcp.command(args) return args.tool and call(args) or list(args) end

return mcp
