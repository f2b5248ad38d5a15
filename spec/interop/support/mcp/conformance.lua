-- The client that MCP's conformance suite tests: its URL is the last argument, the environment says the scenario
-- (MCP_CONFORMANCE_SCENARIO) and what else it needs (…_CONTEXT, JSON). The suite also says the version, which this
-- client finds out by itself. It fails for a scenario that it does not know.

local core = require "koine.core"
local http = require "koine.net.http"
local koine = require "koine"

local url = assert(arg[#arg], "a URL expected")
local scenario = assert(os.getenv "MCP_CONFORMANCE_SCENARIO", "run by the conformance suite")
local context = core.decode(os.getenv "MCP_CONFORMANCE_CONTEXT" or "{}")

local meanwhile -- function(client): what is done while the server waits for an answer

local client

local function accept()
  if meanwhile then meanwhile() end
  return { action = "accept", content = {} }
end

local function call(name, arguments) return assert(client:call(name, arguments or {})) end

local function list() return assert(client:tools { prefix = false }) end

local scenarios = {}

scenarios.initialize = list

function scenarios.tools_call()
  list()
  call("add_numbers", { a = 5, b = 3 })
end

scenarios["elicitation-sep1034-client-defaults"] = function() call "test_client_elicitation_defaults" end

scenarios["sse-retry"] = function() call "test_reconnection" end

scenarios["request-metadata"] = list

scenarios["sep-2322-client-request-state"] = function()
  list()
  meanwhile = function() call "test_mrtr_unrelated" end
  call "test_mrtr_echo_state"
  meanwhile = nil
  call "test_mrtr_no_state"
  call "test_mrtr_no_result_type"
end

scenarios["http-standard-headers"] = function()
  list()
  call "test_headers"
  call "my-hyphenated-tool"
  for _, resource in ipairs(assert(client:resources())) do assert(client:read(resource.uri)) end
  for _, prompt in ipairs(assert(client:prompts())) do assert(client:prompt(prompt.name)) end
end

scenarios["http-custom-headers"] = function()
  list()
  for _, wanted in ipairs(context.toolCalls) do call(wanted.name, wanted.arguments) end
end

scenarios["http-invalid-tool-headers"] = function()
  for _, tool in ipairs(list()) do call(tool.mcp.name, { region = "x" }) end
end

scenarios["json-schema-ref-no-deref"] = list

scenarios["json-schema-2020-12-preservation"] = function()
  for _, tool in ipairs(list()) do
    if tool.name ~= "json_schema_echo" then call("json_schema_echo", { schema = tool.parameters }) end
  end
end

-- A person who agrees: the address that the browser is sent to.
local function agree(there)
  local answer = assert(http.send { method = "GET", url = there, headers = {}, timeouts = { total = 10 } })
  return assert(answer.headers.location, "the authorisation server sent the browser nowhere")
end

-- What all scenarios of OAuth are asked to do.
local function logged_in()
  list()
  call "test-tool"
  call "test-tool"
end

local is_login = scenario:find "^auth/" ~= nil
local run = assert(scenarios[scenario] or is_login and logged_in, scenario .. ": not spoken")
client = assert(koine.mcp.connect { name = "judge", url = url, on_elicit = accept,
  sampling = function() return "Hello." end, roots = { { uri = "file:///home/judge" } },
  login = is_login and { on_url = agree, client_id = context.client_id, client_secret = context.client_secret,
    issuer = context.issuer, client_metadata_url = "https://conformance-test.local/client-metadata.json" } or nil })
run()
client:close()
