--- Strict validation of Anthropic Messages requests: what the real API refuses is a problem here, and so is what it
-- only forgives. Pure; `issued` is the memory of what this server handed out (see init.lua).

local check = require "koine.testing.loopback.check"
local json = require "koine.testing.loopback.json"

local set = check.set

local KEYS = set [[model messages max_tokens system tools tool_choice thinking temperature top_p top_k
  stop_sequences stream metadata service_tier output_config cache_control container context_management mcp_servers
  inference_geo speed]]
local COUNT_KEYS = set "model messages system tools tool_choice thinking output_config cache_control"
local TOOL_KEYS = set [[type name description input_schema strict cache_control eager_input_streaming input_examples
  defer_loading]]
local BLOCK_KEYS = {
  text = set "type text cache_control citations",
  image = set "type source cache_control transformations",
  document = set "type source title context citations cache_control",
  search_result = set "type source title content citations cache_control",
  tool_use = set "type id name input cache_control caller",
  tool_result = set "type tool_use_id content is_error cache_control",
  thinking = set "type thinking signature",
  redacted_thinking = set "type data",
}
-- Tools of the provider's own, without the date that ends their type.
local SERVER_TOOLS = set [[advisor bash browser_toolset code_execution computer computer_toolset memory text_editor
  tool_search_tool_bm25 tool_search_tool_regex web_fetch web_search]]
local NAMELESS = set "mcp_toolset"
local UNDATED = set "mcp_toolset tool_search_tool_bm25 tool_search_tool_regex"
local ONLY = {
  image = "user", document = "user", search_result = "user", tool_result = "user",
  tool_use = "assistant", thinking = "assistant", redacted_thinking = "assistant",
}
local OPAQUE = set [[server_tool_use web_search_tool_result web_fetch_tool_result code_execution_tool_result
  bash_code_execution_tool_result text_editor_code_execution_tool_result tool_search_tool_result container_upload
  mcp_tool_use mcp_tool_result advisor_tool_result compaction fallback]]

-- `ctx` is what one request is checked with: {check = collector, issued, model, marks, ids}.

local function cache_mark(ctx, path, holder)
  local mark = holder.cache_control
  if mark == nil then
    return
  end
  path = path .. ".cache_control"
  ctx.marks = ctx.marks + 1
  if ctx.check:object(path, mark, set "type ttl", "type") then
    ctx.check:word(path .. ".type", mark.type, "ephemeral")
    ctx.check:word(path .. ".ttl", mark.ttl, "5m 1h")
    if mark.ttl == "1h" and ctx.short_mark then
      ctx.check:add(path .. ".ttl", "a 1h mark may not come after a 5m one")
    end
    ctx.short_mark = ctx.short_mark or mark.ttl ~= "1h"
  end
end

local function check_source(ctx, path, source, document)
  if not ctx.check:object(path, source, set "type media_type data url file_id content", "type") then
    return
  elseif source.type == "base64" then
    local media = document and "application/pdf" or "image/jpeg image/png image/gif image/webp"
    ctx.check:word(path .. ".media_type", source.media_type or "", media)
    ctx.check:base64(path .. ".data", source.data)
  elseif source.type == "url" then
    ctx.check:string(path .. ".url", source.url, "^https?://", "an http or https URL")
  elseif source.type == "file" then
    ctx.check:string(path .. ".file_id", source.file_id)
  elseif document and source.type == "text" then
    ctx.check:word(path .. ".media_type", source.media_type or "", "text/plain")
    ctx.check:string(path .. ".data", source.data)
  elseif not (document and source.type == "content") then
    ctx.check:add(path .. ".type", "unknown source %q", tostring(source.type))
  end
end

local check_blocks

local CHECKS = {}

function CHECKS.thinking(ctx, path, block)
  local known = ctx.issued.thinking[block.signature]
  if type(block.thinking) ~= "string" then
    ctx.check:add(path .. ".thinking", "a string expected")
  end
  if not ctx.check:string(path .. ".signature", block.signature) then
    return
  elseif not known then
    if ctx.issued.strict then
      ctx.check:add(path .. ".signature", "Invalid `signature` in `thinking` block: this server never issued it")
    end
  elseif known.text ~= block.thinking then
    ctx.check:add(path .. ".thinking", "thinking blocks cannot be modified")
  elseif known.model ~= ctx.model then
    ctx.check:add(path .. ".signature", "Invalid `signature` in `thinking` block: issued for model %s", known.model)
  end
end

function CHECKS.text(ctx, path, block)
  ctx.check:text(path .. ".text", block.text)
end

function CHECKS.image(ctx, path, block)
  check_source(ctx, path .. ".source", block.source, false)
end

function CHECKS.document(ctx, path, block)
  local citations = block.citations
  check_source(ctx, path .. ".source", block.source, true)
  if citations ~= nil and ctx.check:object(path .. ".citations", citations, set "enabled", "enabled") then
    ctx.check:boolean(path .. ".citations.enabled", citations.enabled)
  end
end

function CHECKS.search_result(ctx, path, block)
  ctx.check:string(path .. ".source", block.source)
  ctx.check:string(path .. ".title", block.title)
end

function CHECKS.tool_use(ctx, path, block)
  ctx.check:string(path .. ".id", block.id, "^[%w_-]+$", "an id of the form ^[a-zA-Z0-9_-]+$")
  ctx.check:string(path .. ".name", block.name, "^[%w_-]+$", "a name of the form ^[a-zA-Z0-9_-]{1,128}$")
  if #tostring(block.name) > 128 then
    ctx.check:add(path .. ".name", "at most 128 characters expected")
  end
  if not json.is_object(block.input) then
    ctx.check:add(path .. ".input", "an object expected")
  end
  if block.id and ctx.ids[block.id] then
    ctx.check:add(path .. ".id", "`tool_use` ids must be unique")
  elseif block.id then
    ctx.ids[block.id] = true
  end
end

function CHECKS.tool_result(ctx, path, block)
  ctx.check:string(path .. ".tool_use_id", block.tool_use_id)
  ctx.check:boolean(path .. ".is_error", block.is_error)
  if type(block.content) == "table" and #block.content > 0 then
    check_blocks(ctx, path .. ".content", block.content, "user", set "text image document search_result")
  elseif block.content ~= nil and type(block.content) ~= "string" and not json.is_array(block.content) then
    ctx.check:add(path .. ".content", "a string or an array of blocks expected")
  end
end

function CHECKS.redacted_thinking(ctx, path, block)
  local known = ctx.issued.redacted[block.data]
  if ctx.check:string(path .. ".data", block.data) and ctx.issued.strict then
    if not known then
      ctx.check:add(path .. ".data", "Invalid `data` in `redacted_thinking` block: this server never issued it")
    elseif known ~= ctx.model then
      ctx.check:add(path .. ".data", "Invalid `data` in `redacted_thinking` block: issued for model %s", known)
    end
  end
end

local function check_opaque(ctx, path, block, role)
  local opaque = ctx.issued.opaque.anthropic
  local known = opaque[json.encode(block)]
  if role ~= "assistant" or not (OPAQUE[block.type] or known) then
    ctx.check:add(path .. ".type", "unexpected block type %q", tostring(block.type))
  elseif ctx.issued.strict and next(opaque) and not known then
    ctx.check:add(path, "this server never issued this %s block", block.type)
  end
end

--- One array of blocks. `types` narrows the types allowed.
function check_blocks(ctx, path, blocks, role, types)
  if not ctx.check:array(path, blocks) then
    return
  end
  for i, block in ipairs(blocks) do
    local at = ("%s.%d"):format(path, i - 1)
    local kind = json.is_object(block) and block.type
    if not kind then
      ctx.check:add(at .. ".type", "field required")
    elseif not BLOCK_KEYS[kind] then
      check_opaque(ctx, at, block, role)
    elseif types and not types[kind] or ONLY[kind] and ONLY[kind] ~= role then
      ctx.check:add(at .. ".type", "%s is not permitted here (role %s)", kind, role)
    else
      ctx.check:object(at, block, BLOCK_KEYS[kind], kind == "tool_use" and "input" or "")
      CHECKS[kind](ctx, at, block)
      cache_mark(ctx, at, block)
    end
  end
end

--- The tool_use ids of a message, in order.
local function calls_of(message)
  local ids = {}
  if message and message.role == "assistant" and json.is_array(message.content) then
    for _, block in ipairs(message.content) do
      if type(block) == "table" and block.type == "tool_use" then
        ids[#ids + 1] = block.id
      end
    end
  end
  return ids
end

--- Results first, each answering one call of the message before, every call answered.
local function check_pairs(ctx, path, message, before)
  local open = {}
  for _, id in ipairs(calls_of(before)) do
    open[id] = true
  end
  local others = false
  for i, block in ipairs(json.is_array(message.content) and message.content or {}) do
    local at = ("%s.content.%d"):format(path, i - 1)
    if type(block) == "table" and block.type == "tool_result" then
      if others then
        ctx.check:add(at, "`tool_result` blocks must come before all other content")
      end
      if not open[block.tool_use_id or false] then
        ctx.check:add(at, "unexpected `tool_use_id` %s: no open `tool_use` block with this id in the previous message",
          tostring(block.tool_use_id))
      end
      open[block.tool_use_id or false] = nil
    else
      others = true
    end
  end
  for _, id in ipairs(calls_of(before)) do
    if open[id] then
      ctx.check:add(path, "`tool_use` ids were found without `tool_result` blocks immediately after: %s", id)
    end
  end
end

local function check_last(ctx, path, message, body)
  if message.role ~= "assistant" then
    return
  end
  if #calls_of(message) > 0 then
    ctx.check:add(path, "`tool_use` ids were found without `tool_result` blocks immediately after")
  end
  local text = message.content
  if json.is_array(text) then
    local block = text[#text]
    text = type(block) == "table" and block.type == "text" and block.text
  end
  if type(text) == "string" and text:find("%s$") then
    ctx.check:add(path, "final assistant content cannot end with trailing whitespace")
  end
  if type(text) == "string" and json.is_object(body.thinking) and body.thinking.type == "enabled" then
    ctx.check:add(path, "an assistant message may not be prefilled when thinking is enabled")
  end
end

--- With budget thinking the last assistant message that calls tools begins with its thinking.
local function check_leading_thinking(ctx, messages, body)
  if not json.is_object(body.thinking) or body.thinking.type ~= "enabled" then
    return
  end
  for i = #messages, 1, -1 do
    if messages[i].role == "assistant" then
      local first = json.is_array(messages[i].content) and messages[i].content[1]
      local kind = type(first) == "table" and first.type
      if #calls_of(messages[i]) > 0 and kind ~= "thinking" and kind ~= "redacted_thinking" then
        ctx.check:add(("messages.%d.content.0.type"):format(i - 1),
          "Expected `thinking` or `redacted_thinking`, but found `%s`", tostring(kind))
      end
      return
    end
  end
end

local function check_messages(ctx, body)
  if not ctx.check:array("messages", body.messages) then
    return
  end
  local messages = {}
  for i, message in ipairs(body.messages) do
    local path = ("messages.%d"):format(i - 1)
    if not ctx.check:object(path, message, set "role content", "role content") then
      return
    end
    messages[i] = message
    if ctx.check:word(path .. ".role", message.role, "user assistant") then
      local previous = i > 1 and messages[i - 1].role or "assistant"
      if previous == message.role then
        ctx.check:add(path .. ".role", i == 1 and "first message must use the user role"
          or "roles must alternate between user and assistant")
      end
    end
    if type(message.content) == "string" then
      ctx.check:text(path .. ".content", message.content)
    else
      check_blocks(ctx, path .. ".content", message.content, message.role)
    end
    check_pairs(ctx, path, message, messages[i - 1])
  end
  check_last(ctx, ("messages.%d"):format(#messages - 1), messages[#messages], body)
  check_leading_thinking(ctx, messages, body)
end

--- A tool of the provider's own: a type that this wire has, and no schema, which the provider knows.
local function check_server_tool(ctx, path, tool)
  local kind = tostring(tool.type)
  if not (UNDATED[kind] or SERVER_TOOLS[kind:match("^(.*)_%d%d%d%d%d%d%d%d$") or ""]) then
    ctx.check:add(path .. ".type", "Input tag '%s' does not match any of the expected tags", kind)
  end
  for _, key in ipairs { "input_schema", "description" } do
    if tool[key] ~= nil then
      ctx.check:add(path .. "." .. key, "extra inputs are not permitted")
    end
  end
end

local function check_tools(ctx, body)
  local names = {}
  if body.tools ~= nil and ctx.check:array("tools", body.tools) then
    for i, tool in ipairs(body.tools) do
      local path = ("tools.%d"):format(i - 1)
      local server_tool = json.is_object(tool) and tool.type ~= nil and tool.type ~= "custom"
      local named = not (server_tool and NAMELESS[tool.type])
      if ctx.check:object(path, tool, not server_tool and TOOL_KEYS or nil, named and "name" or "type") and named then
        if server_tool then
          check_server_tool(ctx, path, tool)
        end
        ctx.check:string(path .. ".name", tool.name, "^[%w_-]+$", "a name of the form ^[a-zA-Z0-9_-]{1,128}$")
        if names[tool.name] then
          ctx.check:add("tools", "tool names must be unique: %s", tostring(tool.name))
        end
        names[tool.name] = true
        if not server_tool then
          ctx.check:tool_schema(path .. ".input_schema", tool.input_schema)
        end
        if tool.description ~= nil and type(tool.description) ~= "string" then
          ctx.check:add(path .. ".description", "a string expected")
        end
        ctx.check:boolean(path .. ".strict", tool.strict)
        cache_mark(ctx, path, tool)
      end
    end
  end
  local choice, keys = body.tool_choice, set "type name disable_parallel_tool_use"
  if choice == nil or not ctx.check:object("tool_choice", choice, keys, "type") then
    return
  end
  ctx.check:word("tool_choice.type", choice.type, "auto any tool none")
  ctx.check:boolean("tool_choice.disable_parallel_tool_use", choice.disable_parallel_tool_use)
  if body.tools == nil then
    ctx.check:add("tool_choice", "may only be specified while providing `tools`")
  elseif choice.type == "tool" and not names[choice.name or false] then
    ctx.check:add("tool_choice.name", "tool %q not found in provided tools", tostring(choice.name))
  elseif choice.type ~= "tool" and choice.name ~= nil then
    ctx.check:add("tool_choice.name", "extra inputs are not permitted")
  end
end

local function check_thinking_mode(ctx, body)
  local thinking = body.thinking
  if thinking == nil or not ctx.check:object("thinking", thinking, set "type budget_tokens display", "type") then
    return
  end
  ctx.check:word("thinking.type", thinking.type, "enabled disabled adaptive")
  ctx.check:word("thinking.display", thinking.display, "summarized omitted")
  if thinking.type == "enabled" then
    ctx.check:integer("thinking.budget_tokens", thinking.budget_tokens or 0, 1024)
    if math.type(thinking.budget_tokens) == "integer" and math.type(body.max_tokens) == "integer"
      and thinking.budget_tokens >= body.max_tokens then
      ctx.check:add("max_tokens", "must be greater than `thinking.budget_tokens`")
    end
  elseif thinking.budget_tokens ~= nil then
    ctx.check:add("thinking.budget_tokens", "extra inputs are not permitted")
  end
  if thinking.type == "disabled" then
    return
  end
  local choice = json.is_object(body.tool_choice) and body.tool_choice.type
  if choice == "any" or choice == "tool" then
    ctx.check:add("tool_choice", "thinking may not be enabled when tool_choice forces tool use")
  end
  if body.temperature ~= nil and body.temperature ~= 1 then
    ctx.check:add("temperature", "may only be set to 1 when thinking is enabled")
  end
  if body.top_k ~= nil then
    ctx.check:add("top_k", "must be unset when thinking is enabled")
  end
end

local function check_settings(ctx, body)
  ctx.check:string("model", body.model)
  ctx.check:integer("max_tokens", body.max_tokens, 0)
  ctx.check:number("temperature", body.temperature, 0, 1)
  ctx.check:number("top_p", body.top_p, 0, 1)
  ctx.check:integer("top_k", body.top_k, 0)
  ctx.check:boolean("stream", body.stream)
  ctx.check:strings("stop_sequences", body.stop_sequences, 8191)
  ctx.check:word("service_tier", body.service_tier, "auto standard_only")
  if body.metadata ~= nil then
    ctx.check:object("metadata", body.metadata, set "user_id", "")
  end
  if body.output_config ~= nil and ctx.check:object("output_config", body.output_config,
    set "effort format task_budget", "") then
    ctx.check:word("output_config.effort", body.output_config.effort, "low medium high xhigh max")
  end
end

--- The container to run code in: one that this server gave out, or skills for a new one.
local function check_container(ctx, body)
  local given = body.container
  if given == nil then
    return
  end
  local id, path = given, "container"
  if json.is_object(given) then
    ctx.check:object("container", given, set "id skills")
    id, path = given.id, "container.id"
  elseif given == json.null then
    return
  end
  if id == nil and json.is_object(given) or not ctx.check:string(path, id) then
    return
  elseif next(ctx.issued.containers) and not ctx.issued.containers[id] then
    ctx.check:add(path, "the container %s does not exist", id)
  elseif ctx.issued.containers[id] and ctx.issued.containers[id] ~= ctx.model then
    ctx.check:add(path, "the container %s was given to the model %s", id, ctx.issued.containers[id])
  end
end

local function check_system(ctx, body)
  if type(body.system) == "string" then
    ctx.check:text("system", body.system)
  elseif body.system ~= nil then
    check_blocks(ctx, "system", body.system, "user", set "text")
  end
end

local function check_headers(c, headers)
  if headers["anthropic-version"] ~= "2023-06-01" then
    c:add("anthropic-version", "header is required: 2023-06-01")
  end
  local seen = {}
  for name in (headers["anthropic-beta"] or ""):gmatch("[^,]+") do
    local beta = name:match("^%s*(.-)%s*$")
    if beta == "" or beta:find("[^%l%d._-]") or seen[beta] then
      c:add("anthropic-beta", "distinct lower-case names separated by commas expected, got %q", beta)
    end
    seen[beta] = true
  end
end

--- Checks a request to /v1/messages, or to /v1/messages/count_tokens when `count` is set. `issued`: what the server
-- handed out. Returns the decoded body (nil when it is no object) and an array of problems.
return function(request, count, issued)
  local c = check.new()
  check_headers(c, request.headers)
  local body = c:body(request)
  if not body then
    return nil, c.problems
  end
  local ctx = { check = c, issued = issued, marks = 0, ids = {}, model = body.model }
  c:object("request", body, count and COUNT_KEYS or KEYS, count and "model messages" or "model messages max_tokens")
  check_settings(ctx, body)
  check_container(ctx, body)
  check_tools(ctx, body)
  check_system(ctx, body)
  check_messages(ctx, body)
  check_thinking_mode(ctx, body)
  cache_mark(ctx, "request", body)
  if ctx.marks > 4 then
    c:add("cache_control", "a maximum of 4 blocks may carry cache_control, found %d", ctx.marks)
  end
  return body, c.problems
end
