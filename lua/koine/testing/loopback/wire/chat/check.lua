--- Strict validation of OpenAI Chat Completions requests, with the keys that compatible servers add. Pure; `issued` is
-- the memory of what this server handed out (see issued.lua).

local check = require "koine.testing.loopback.check"
local check_format = require "koine.testing.loopback.wire.chat.format"
local json = require "koine.testing.loopback.json"

local set = check.set

local KEYS = set [[model messages max_tokens max_completion_tokens temperature top_p n stream stream_options stop tools
  tool_choice parallel_tool_calls response_format reasoning_effort verbosity seed user metadata store service_tier
  logprobs top_logprobs logit_bias frequency_penalty presence_penalty prediction modalities audio prompt_cache_key
  prompt_cache_retention prompt_cache_options safety_identifier web_search_options
  reasoning reasoning_format include_reasoning thinking thinking_budget enable_thinking chat_template_kwargs
  thinking_budget_tokens provider models route transforms plugins random_seed safe_prompt prompt_mode top_k min_p
  repetition_penalty cache_prompt]]
local MESSAGE_KEYS = {
  system = set "role content name copilot_cache_control",
  developer = set "role content name copilot_cache_control",
  user = set "role content name copilot_cache_control",
  assistant = set [[role content name refusal audio tool_calls prefix reasoning_content reasoning reasoning_text
    reasoning_opaque reasoning_details copilot_cache_control]],
  tool = set "role content tool_call_id name copilot_cache_control",
}
local PART_KEYS = {
  text = set "type text prompt_cache_breakpoint",
  image_url = set "type image_url",
  file = set "type file",
  input_audio = set "type input_audio",
  refusal = set "type refusal",
  thinking = set "type thinking closed",
}
local PARTS = {
  system = set "text", developer = set "text", tool = set "text",
  user = set "text image_url file input_audio", assistant = set "text refusal thinking",
}

local function check_url(ctx, path, image)
  local url = image
  if json.is_object(image) then
    ctx.check:object(path, image, set "url detail", "url")
    url, path = image.url, path .. ".url"
  end
  if ctx.check:string(path, url) then
    if url:find("^data:") then
      local media, data = url:match("^data:([%w.+/-]+);base64,(.*)$")
      if not media then
        ctx.check:add(path, "a data URL of the form data:TYPE;base64,DATA expected")
      else
        ctx.check:base64(path, data)
      end
    elseif not url:find("^https?://") then
      ctx.check:add(path, "an http, https or data URL expected")
    end
  end
end

local function check_part(ctx, path, part, role)
  local kind = json.is_object(part) and part.type
  if not kind or not PART_KEYS[kind] or not PARTS[role][kind] then
    return ctx.check:add(path .. ".type", "unexpected part %q in a message of role %s", tostring(kind), role)
  end
  ctx.check:object(path, part, PART_KEYS[kind], kind)
  if kind == "text" then
    ctx.check:string(path .. ".text", part.text)
  elseif kind == "image_url" then
    check_url(ctx, path .. ".image_url", part.image_url)
  elseif kind == "file" then
    ctx.check:object(path .. ".file", part.file, set "file_data file_id filename", "")
  elseif kind == "input_audio" then
    ctx.check:object(path .. ".input_audio", part.input_audio, set "data format", "data format")
  elseif kind == "thinking" then
    ctx.check:array(path .. ".thinking", part.thinking)
  end
end

local function check_content(ctx, path, message)
  local content, calls = message.content, message.tool_calls
  if message.role == "assistant" and (content == nil or content == json.null) then
    if not calls and not message.refusal then
      ctx.check:add(path, "content is required unless tool_calls is specified")
    end
  elseif type(content) == "string" then
    -- A tool may answer nothing, and some servers want "" beside calls; elsewhere empty text is a mistake.
    if content == "" and message.role ~= "tool" and not calls then
      ctx.check:add(path, "an empty string is not permitted")
    end
  elseif ctx.check:array(path, content) then
    for i, part in ipairs(content) do
      check_part(ctx, ("%s.%d"):format(path, i - 1), part, message.role)
    end
  end
end

local function check_call(ctx, path, call, seen)
  if not ctx.check:object(path, call, set "id type function extra_content thought_signature", "id type function") then
    return
  end
  ctx.check:string(path .. ".id", call.id)
  ctx.check:word(path .. ".type", call.type, "function")
  if seen[call.id] then
    ctx.check:add(path .. ".id", "duplicate id %s", tostring(call.id))
  end
  seen[call.id] = true
  local f = call["function"]
  if not ctx.check:object(path .. ".function", f, set "name arguments thought_signature", "name arguments") then
    return
  end
  ctx.check:string(path .. ".function.name", f.name, "^[%w_-]+$", "a name of the form ^[a-zA-Z0-9_-]{1,64}$")
  if type(f.arguments) ~= "string" then
    ctx.check:add(path .. ".function.arguments", "a string expected")
  elseif not json.is_object(json.decode(f.arguments)) then
    ctx.check:add(path .. ".function.arguments", "the text of a JSON object expected")
  end
end

local function check_details(ctx, path, details)
  if not ctx.check:array(path, details) then
    return
  end
  for i, detail in ipairs(details) do
    local at = ("%s.%d"):format(path, i - 1)
    if ctx.check:object(at, detail, nil, "type") and ctx.issued.strict then
      local signature, data = detail.signature, detail.data
      local known = ctx.issued.thinking[signature]
      if type(signature) == "string" and not known then
        ctx.check:add(at .. ".signature", "this server never issued it")
      elseif known and (known.text ~= detail.text or known.model ~= ctx.model) then
        ctx.check:add(at, "reasoning that carries a signature cannot be modified or sent to another model")
      end
      if type(data) == "string" and ctx.issued.redacted[data] ~= ctx.model then
        ctx.check:add(at .. ".data", "this server never issued it for this model")
      end
    end
  end
end

local function check_assistant(ctx, path, message)
  if message.tool_calls ~= nil and ctx.check:array(path .. ".tool_calls", message.tool_calls) then
    local seen = {}
    for i, call in ipairs(message.tool_calls) do
      check_call(ctx, ("%s.tool_calls.%d"):format(path, i - 1), call, seen)
    end
  end
  if message.reasoning_details ~= nil then
    check_details(ctx, path .. ".reasoning_details", message.reasoning_details)
  end
  local opaque = message.reasoning_opaque
  if opaque ~= nil and ctx.issued.strict and not ctx.issued.thinking[opaque] then
    ctx.check:add(path .. ".reasoning_opaque", "this server never issued it")
  end
  for _, key in ipairs { "reasoning_content", "reasoning", "reasoning_text" } do
    if message[key] ~= nil and type(message[key]) ~= "string" then
      ctx.check:add(path .. "." .. key, "a string expected")
    end
  end
end

--- Tool messages stand directly after the calls they answer, one for each, in the calls' order.
local function check_pairs(ctx, messages)
  local open, from = {}, 0
  for i, message in ipairs(messages) do
    local path = ("messages.%d"):format(i - 1)
    if message.role == "tool" then
      if not open[1] then
        ctx.check:add(path, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'")
      elseif message.tool_call_id ~= open[1] then
        ctx.check:add(path .. ".tool_call_id", "%s expected here, the calls' order", tostring(open[1]))
      end
      table.remove(open, 1)
    else
      if open[1] then
        ctx.check:add(("messages.%d"):format(from), "an assistant message with 'tool_calls' must be followed by " ..
          "tool messages responding to each 'tool_call_id': %s is missing", tostring(open[1]))
      end
      open, from = {}, i - 1
      for _, call in ipairs(json.is_array(message.tool_calls) and message.tool_calls or {}) do
        open[#open + 1] = json.is_object(call) and call.id or "?"
      end
    end
  end
  if open[1] then
    ctx.check:add(("messages.%d"):format(from), "'tool_calls' without a tool message for %s", tostring(open[1]))
  end
end

local function check_messages(ctx, body)
  if not ctx.check:array("messages", body.messages) then
    return
  end
  for i, message in ipairs(body.messages) do
    local path = ("messages.%d"):format(i - 1)
    local role = json.is_object(message) and message.role
    if not MESSAGE_KEYS[role] then
      ctx.check:add(path .. ".role", "system, developer, user, assistant or tool expected")
      return
    end
    local plain = {}
    for key, value in pairs(message) do
      if not (role == "assistant" and value == json.null and key == "content") then
        plain[key] = value
      end
    end
    ctx.check:object(path, plain, MESSAGE_KEYS[role],
      role == "tool" and "content tool_call_id" or role ~= "assistant" and "content" or "")
    if (role == "system" or role == "developer") and i > 1 then
      ctx.check:add(path .. ".role", "%s may only be the first message", role)
    end
    check_content(ctx, path .. ".content", message)
    if role == "assistant" then
      check_assistant(ctx, path, message)
    elseif role == "tool" then
      ctx.check:string(path .. ".tool_call_id", message.tool_call_id)
    end
  end
  check_pairs(ctx, body.messages)
end

local function check_tool(ctx, path, tool, names)
  if json.is_object(tool) and tool.type == "custom" then
    ctx.check:object(path, tool, set "type custom", "type custom")
  elseif ctx.check:object(path, tool, set "type function", "type function") then
    ctx.check:word(path .. ".type", tool.type, "function")
    local f, at = tool["function"], path .. ".function"
    if ctx.check:object(at, f, set "name description parameters strict", "name")
      and not ctx.check:openai_function(at, f, names) then
      ctx.code = "invalid_function_parameters"
    end
  end
end

local function check_tools(ctx, body)
  local names = {}
  if body.tools ~= nil and ctx.check:array("tools", body.tools) then
    for i, tool in ipairs(body.tools) do
      check_tool(ctx, ("tools.%d"):format(i - 1), tool, names)
    end
  end
  ctx.check:openai_choice(body)
  local choice = body.tool_choice
  if json.is_object(choice) then
    ctx.check:object("tool_choice", choice, set "type function", "type function")
    local f = json.is_object(choice["function"]) and choice["function"] or {}
    if choice.type ~= "function" or not names[f.name or false] then
      ctx.check:add("tool_choice", "a function named in `tools` expected, got %s", tostring(f.name))
    end
  else
    ctx.check:word("tool_choice", choice, "auto none required any")
  end
end

-- OpenAI's two fields, or (Together) the number of alternatives alone.
local function check_logprobs(ctx, body)
  local wanted = body.logprobs
  if type(wanted) == "number" then
    ctx.check:integer("logprobs", wanted, 1, 20)
  else
    ctx.check:boolean("logprobs", wanted)
  end
  ctx.check:integer("top_logprobs", body.top_logprobs, 0, 20)
  if body.top_logprobs ~= nil and wanted ~= true then
    ctx.check:add("top_logprobs", "`logprobs` must be set to true")
  end
end

local function check_settings(ctx, body)
  ctx.check:string("model", body.model)
  ctx.check:integer("max_tokens", body.max_tokens, 1)
  ctx.check:integer("max_completion_tokens", body.max_completion_tokens, 1)
  if body.max_tokens ~= nil and body.max_completion_tokens ~= nil then
    ctx.check:add("max_tokens", "not permitted beside max_completion_tokens")
  end
  ctx.check:number("temperature", body.temperature, 0, 2)
  ctx.check:number("top_p", body.top_p, 0, 1)
  ctx.check:number("min_p", body.min_p, 0, 1)
  ctx.check:integer("top_k", body.top_k, 1)
  ctx.check:integer("seed", body.seed, math.mininteger)
  ctx.check:integer("random_seed", body.random_seed, 0)
  check_logprobs(ctx, body)
  ctx.check:boolean("stream", body.stream)
  if type(body.stop) == "string" then
    ctx.check:string("stop", body.stop)
  else
    ctx.check:strings("stop", body.stop, 4)
  end
  ctx.check:word("reasoning_effort", body.reasoning_effort, "none minimal low medium high xhigh max")
  if ctx.check:openai_settings(body, set "include_usage include_obfuscation") then
    ctx.check:boolean("stream_options.include_usage", body.stream_options.include_usage)
  end
end

--- Checks a request to …/chat/completions. `issued`: what the server handed out. Returns the decoded body (nil when it
-- is no object), an array of problems, and the code of the error where it has one of its own.
return function(request, _, issued)
  local c = check.new()
  local body = c:body(request)
  if not body then
    return nil, c.problems
  end
  local ctx = { check = c, issued = issued, model = body.model }
  c:object("request", body, KEYS, "model messages")
  check_settings(ctx, body)
  check_format(ctx, body)
  check_tools(ctx, body)
  check_messages(ctx, body)
  return body, c.problems, ctx.code
end
