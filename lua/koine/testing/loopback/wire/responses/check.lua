--- Strict validation of OpenAI Responses requests: what the real API refuses is a problem here, and so is what it only
-- forgives. Pure; `issued` is the memory of what this server handed out (see issued.lua).

local check = require "koine.testing.loopback.check"
local check_format = require "koine.testing.loopback.wire.responses.format"
local check_input = require "koine.testing.loopback.wire.responses.items"
local json = require "koine.testing.loopback.json"

local set = check.set

local KEYS = set [[model input instructions tools tool_choice parallel_tool_calls max_output_tokens max_tool_calls
  reasoning text include store previous_response_id conversation truncation metadata prompt prompt_cache_key
  prompt_cache_retention prompt_cache_options safety_identifier service_tier stream stream_options temperature top_p
  top_logprobs user background context_management]]
local COUNT_KEYS = set [[model input instructions tools tool_choice parallel_tool_calls reasoning text
  previous_response_id conversation truncation]]
local TOOL_KEYS = set "type name description parameters strict"
local HOSTED = set [[web_search web_search_2025_08_26 web_search_preview web_search_preview_2025_03_11 file_search
  code_interpreter image_generation mcp local_shell shell apply_patch computer computer_use_preview custom namespace
  programmatic_tool_calling tool_search]]
local INCLUDES = [[reasoning.encrypted_content message.output_text.logprobs message.input_image.image_url
  file_search_call.results web_search_call.results web_search_call.action.sources code_interpreter_call.outputs
  computer_call_output.output.image_url]]

-- `ctx` is what one request is checked with: see items.lua.

local function check_tool(ctx, path, tool, names)
  if json.is_object(tool) and tool.type ~= "function" and HOSTED[tool.type] then
    names[tool.type] = true
  elseif ctx.check:object(path, tool, TOOL_KEYS, "type name strict") then
    ctx.check:word(path .. ".type", tool.type, "function")
    if not ctx.check:openai_function(path, tool, names) then
      ctx.code = "invalid_function_parameters"
    end
  end
end

--- True when the choice is one of the tools of the request.
local function known_choice(choice, names)
  if choice.type == "function" then
    return names[choice.name or false]
  end
  return choice.type == "allowed_tools" or names[choice.type or false]
end

local function check_tools(ctx)
  local body, names = ctx.body, {}
  if body.tools ~= nil and ctx.check:array("tools", body.tools) then
    for i, tool in ipairs(body.tools) do
      check_tool(ctx, ("tools.%d"):format(i - 1), tool, names)
    end
  end
  ctx.check:openai_choice(body)
  local choice = body.tool_choice
  if json.is_object(choice) then
    ctx.check:object("tool_choice", choice, set "type name mode tools", "type")
    if not known_choice(choice, names) then
      ctx.check:add("tool_choice", "a tool of `tools` expected, got %s", tostring(choice.name or choice.type))
    end
  else
    ctx.check:word("tool_choice", choice, "auto none required")
  end
end

local function check_reasoning(ctx)
  local reasoning = ctx.body.reasoning
  if reasoning ~= nil and ctx.check:object("reasoning", reasoning, set "effort summary context mode") then
    ctx.check:word("reasoning.effort", reasoning.effort, "none minimal low medium high xhigh max")
    ctx.check:word("reasoning.summary", reasoning.summary, "auto concise detailed")
  end
end

local function check_include(ctx)
  local include = ctx.body.include
  if include ~= nil and ctx.check:array("include", include) then
    for i, word in ipairs(include) do
      ctx.check:word(("include.%d"):format(i - 1), word, INCLUDES)
    end
  end
end

local function check_settings(ctx)
  local c, body = ctx.check, ctx.body
  c:string("model", body.model)
  for _, key in ipairs { "instructions", "prompt_cache_key", "safety_identifier", "user" } do
    if body[key] ~= nil then
      c:string(key, body[key])
    end
  end
  c:integer("max_output_tokens", body.max_output_tokens, 16)
  c:integer("max_tool_calls", body.max_tool_calls, 1)
  c:number("temperature", body.temperature, 0, 2)
  c:number("top_p", body.top_p, 0, 1)
  c:integer("top_logprobs", body.top_logprobs, 0, 20)
  for _, key in ipairs { "stream", "store", "background" } do
    c:boolean(key, body[key])
  end
  c:word("truncation", body.truncation, "auto disabled")
  c:openai_settings(body, set "include_obfuscation")
  if body.previous_response_id ~= nil and body.conversation ~= nil then
    c:add("conversation", "not permitted beside previous_response_id")
  end
end

--- Checks a request to …/responses, or to …/responses/input_tokens when `count` is set. `issued`: what the server
-- handed out. Returns the decoded body (nil when it is no object), an array of problems, and the code of the error
-- where it has one of its own.
return function(request, count, issued)
  local c = check.new()
  local body = c:body(request)
  if not body then
    return nil, c.problems
  end
  local ctx = { check = c, issued = issued, body = body, open = {}, ids = {} }
  c:object("request", body, count and COUNT_KEYS or KEYS, "model input")
  check_settings(ctx)
  check_include(ctx)
  check_reasoning(ctx)
  check_format(ctx)
  check_tools(ctx)
  check_input(ctx)
  return body, c.problems, ctx.code
end
