--- Strict validation of Anthropic Messages requests: what the real API refuses is a problem here, and so is what it
-- only forgives. Pure; `issued` is the memory of what this server handed out (see issued.lua).

local blocks = require "koine.testing.loopback.wire.anthropic.blocks"
local check = require "koine.testing.loopback.check"
local check_format = require "koine.testing.loopback.wire.anthropic.format"
local check_messages = require "koine.testing.loopback.wire.anthropic.messages"
local check_tools = require "koine.testing.loopback.wire.anthropic.tools"
local json = require "koine.testing.loopback.json"

local set = check.set

local KEYS = set [[model messages max_tokens system tools tool_choice thinking temperature top_p top_k
  stop_sequences stream metadata service_tier output_config cache_control container context_management mcp_servers
  inference_geo speed]]
local COUNT_KEYS = set "model messages system tools tool_choice thinking output_config cache_control"

-- `ctx` is what one request is checked with: {check = collector, issued, model, marks, ids, host}.

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
    blocks.check(ctx, "system", body.system, "user", set "text")
  end
end

local function check_betas(c, path, names)
  local seen = {}
  for _, beta in ipairs(names) do
    if type(beta) ~= "string" or beta == "" or beta:find("[^%l%d._-]") or seen[beta] then
      c:add(path, "distinct lower-case names expected, got %q", tostring(beta))
    end
    seen[beta] = true
  end
end

local function check_headers(c, headers, host)
  local beta, names = headers["anthropic-beta"], {}
  if not host.version and headers["anthropic-version"] ~= "2023-06-01" then
    c:add("anthropic-version", "header is required: 2023-06-01")
  end
  if beta and host.betas_in_body then
    c:add("anthropic-beta", "betas belong in the body: anthropic_beta")
  end
  for name in (beta or ""):gmatch("[^,]+") do
    names[#names + 1] = name:match("^%s*(.-)%s*$")
  end
  check_betas(c, "anthropic-beta", names)
end

--- Checks the body where it depends on the host: the version in it, the model and the stream out of it, the betas.
local function check_host(c, body, host, count)
  local known = {}
  for key in pairs(count and COUNT_KEYS or KEYS) do
    known[key] = true
  end
  known.model = not host.version or count
  known.stream = known.stream and not host.stream_in_path
  known.anthropic_version, known.anthropic_beta = host.version ~= nil, host.betas_in_body
  c:object("request", body, known, (count and "messages" or "messages max_tokens") .. (known.model and " model" or ""))
  if host.version and body.anthropic_version ~= host.version then
    c:add("anthropic_version", "%s expected", host.version)
  end
  if body.anthropic_beta ~= nil and c:array("anthropic_beta", body.anthropic_beta) then
    check_betas(c, "anthropic_beta", body.anthropic_beta)
  end
end

--- Checks a request to /v1/messages, or to /v1/messages/count_tokens when `count` is set. `issued`: what the server
-- handed out. `host`: what differs on another provider's server, nil for Anthropic's own: {version = of the body, which
-- has no model then, model = that of the path, betas_in_body, stream_in_path, data_only = media may have no URLs}.
-- Returns the decoded body (nil when it is no object) and an array of problems.
return function(request, count, issued, host)
  local c = check.new()
  host = host or {}
  check_headers(c, request.headers, host)
  local body = c:body(request)
  if not body then
    return nil, c.problems
  end
  local ctx = { check = c, issued = issued, marks = 0, ids = {}, host = host, model = host.model or body.model }
  check_host(c, body, host, count)
  c:string("model", ctx.model)
  check_settings(ctx, body)
  check_container(ctx, body)
  check_tools(ctx, body)
  check_format(ctx, body)
  check_system(ctx, body)
  check_messages(ctx, body)
  check_thinking_mode(ctx, body)
  blocks.cache_mark(ctx, "request", body)
  if ctx.marks > 4 then
    c:add("cache_control", "a maximum of 4 blocks may carry cache_control, found %d", ctx.marks)
  end
  return body, c.problems
end
