-- mcp_agent.lua: an agent with the tools of two MCP servers, which npx starts: one reads the files of a folder, the
-- other one remembers what it is told. Everything that they started ends with this program.
--   lua5.4 examples/mcp_agent.lua [provider/model [folder]]
local koine = require "koine"

local adapter = koine.adapter(arg[1] or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" })
local folder = arg[2] or "."

-- Starts an MCP server from npm; its tools get the name as a prefix.
local function start(name, ...)
  local client, err = koine.mcp.connect { name = name, command = "npx", args = { "-y", ... },
    on_log = function(line) print(("  (%s: %s)"):format(name, line)) end }
  return assert(client, err)
end

local files <close> = start("files", "@modelcontextprotocol/server-filesystem", folder)
local memory <close> = start("memory", "@modelcontextprotocol/server-memory")

-- Each tool costs tokens in every request: the agent gets the few that it needs.
local tools = assert(files:tools { only = { "list_directory", "read_text_file" } })
for _, tool in ipairs(assert(memory:tools { only = { "search_nodes", "create_entities" } })) do
  tools[#tools + 1] = tool
end

local agent = koine.agent {
  adapter = adapter,
  tools = tools,
  system = "Be brief. Look into your memory before you read files.",
  on_event = function(event)
    if event.kind == "tool_call" then print(("  -> %s(%s)"):format(event.tool_name, event.tool_input)) end
    if event.kind == "tool_result" then print("  <- " .. event.content) end
  end,
}

print(assert(agent:run("What is in " .. folder .. "? Remember it.")).text)
