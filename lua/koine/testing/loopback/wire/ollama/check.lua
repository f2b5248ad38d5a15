--- Strict validation of Ollama's chat requests: what the server would refuse, and what it would silently lose. Pure.

local check = require "koine.testing.loopback.check"
local json = require "koine.testing.loopback.json"

local set = check.set

local KEYS = set "model messages stream think format keep_alive options tools truncate shift logprobs top_logprobs"
local WHOLE = set [[num_ctx num_keep num_batch num_gpu main_gpu num_thread draft_num_predict num_predict seed top_k
  repeat_last_n]]
local NUMBERS = set [[temperature top_p typical_p repeat_penalty presence_penalty frequency_penalty]]
local MESSAGE_KEYS = {
  system = set "role content",
  user = set "role content images",
  assistant = set "role content thinking tool_calls",
  tool = set "role content images tool_name tool_call_id",
}
-- Keywords of a schema that vanish before the model sees them.
local LOST = { "$ref", "oneOf", "allOf", "const", "default", "minimum", "maximum", "exclusiveMinimum",
  "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format", "minItems", "maxItems",
  "additionalProperties" }

local function check_options(ctx, options)
  if options == nil or not ctx:object("options", options) then
    return
  end
  for name, value in pairs(options) do
    local path = "options." .. name
    if name == "min_p" then
      ctx:number(path, value, 0, 1)
    elseif WHOLE[name] then
      ctx:integer(path, value, -2)
    elseif NUMBERS[name] then
      ctx:number(path, value, -1000, 1000)
    elseif name == "use_mmap" then
      ctx:boolean(path, value)
    elseif name == "stop" then
      ctx:strings(path, value, 1000)
    else
      ctx:add(path, "an option that no model has: the server ignores it")
    end
  end
end

-- The grammar takes no other patterns, and no references to elsewhere.
local function check_patterns(ctx, path, schema)
  for key, value in pairs(type(schema) == "table" and schema or {}) do
    local at = ("%s.%s"):format(path, key)
    if key == "pattern" and type(value) == "string" and not value:find "^%^.*%$$" then
      ctx:add(at, "Pattern must start with '^' and end with '$'")
    elseif key == "$ref" and type(value) == "string" and value:sub(1, 1) ~= "#" then
      ctx:add(at, "Unsupported ref: %s", value)
    end
    check_patterns(ctx, at, value)
  end
end

local function check_settings(ctx, body)
  ctx:string("model", body.model)
  ctx:boolean("stream", body.stream)
  if type(body.think) ~= "boolean" then
    ctx:word("think", body.think, "low medium high max")
  end
  if body.format ~= nil and body.format ~= "json" then
    ctx:schema("format", body.format)
    check_patterns(ctx, "format", body.format)
  end
  if body.format ~= nil and body.tools ~= nil then
    ctx:add("format", "the model could not call a tool")
  end
  if type(body.keep_alive) ~= "number" and body.keep_alive ~= nil then
    ctx:string("keep_alive", body.keep_alive)
  end
  for _, name in ipairs { "truncate", "shift", "logprobs" } do
    ctx:boolean(name, body[name])
  end
  ctx:integer("top_logprobs", body.top_logprobs, 0, 20)
  check_options(ctx, body.options)
end

local function check_lost(ctx, path, schema)
  if not json.is_object(schema) then
    return
  end
  for _, key in ipairs(LOST) do
    if schema[key] ~= nil then
      ctx:add(path .. "." .. key, "the model would never see it")
    end
  end
  for name, sub in pairs(json.is_object(schema.properties) and schema.properties or {}) do
    check_lost(ctx, path .. ".properties." .. name, sub)
  end
  for _, sub in ipairs(json.is_array(schema.anyOf) and schema.anyOf or {}) do
    check_lost(ctx, path .. ".anyOf", sub)
  end
  check_lost(ctx, path .. ".items", schema.items)
end

local function check_tools(ctx, tools)
  if tools == nil or not ctx:array("tools", tools) then
    return
  end
  local names = {}
  for i, tool in ipairs(tools) do
    local path = ("tools.%d"):format(i - 1)
    if ctx:object(path, tool, set "type function", "type function") then
      ctx:word(path .. ".type", tool.type, "function")
      local f, at = tool["function"], path .. ".function"
      if ctx:object(at, f, set "name description parameters", "name parameters") then
        ctx:string(at .. ".name", f.name, "^[%w_-]+$", "a name of the form ^[a-zA-Z0-9_-]{1,64}$")
        if names[f.name] then
          ctx:add(at .. ".name", "tool names must be unique: %s", tostring(f.name))
        end
        names[f.name] = true
        ctx:tool_schema(at .. ".parameters", f.parameters)
        if json.is_object(f.parameters) and not json.is_object(f.parameters.properties) then
          ctx:add(at .. ".parameters.properties", "an object expected")
        end
        check_lost(ctx, at .. ".parameters", f.parameters)
      end
    end
  end
end

local function check_images(ctx, path, images)
  if images ~= nil and ctx:array(path, images) then
    for i, image in ipairs(images) do
      ctx:base64(("%s.%d"):format(path, i - 1), image)
    end
  end
end

local function check_calls(ctx, path, calls)
  if calls == nil or not ctx:array(path, calls) then
    return
  end
  local seen = {}
  for i, call in ipairs(calls) do
    local at = ("%s.%d"):format(path, i - 1)
    if ctx:object(at, call, set "id function", "id function") then
      ctx:string(at .. ".id", call.id)
      if seen[call.id] then
        ctx:add(at .. ".id", "duplicate id %s", tostring(call.id))
      end
      seen[call.id] = true
      local f = call["function"]
      if ctx:object(at .. ".function", f, set "index name arguments", "index name arguments") then
        ctx:string(at .. ".function.name", f.name)
        if f.index ~= i - 1 then
          ctx:add(at .. ".function.index", "%d expected", i - 1)
        end
        if not json.is_object(f.arguments) then
          ctx:add(at .. ".function.arguments", "an object expected, not a string")
        end
      end
    end
  end
end

local function check_message(ctx, path, message, first)
  local role = message.role
  ctx:object(path, message, MESSAGE_KEYS[role], role == "tool" and "content tool_name tool_call_id" or "content")
  if role == "system" and not first then
    ctx:add(path .. ".role", "system may only be the first message")
  end
  if type(message.content) ~= "string" then
    ctx:add(path .. ".content", "a string expected")
  elseif message.content == "" and not message.tool_calls and not message.images then
    ctx:add(path .. ".content", "an empty string is not permitted")
  end
  check_images(ctx, path .. ".images", message.images)
  check_calls(ctx, path .. ".tool_calls", message.tool_calls)
  for _, key in ipairs { "thinking", "tool_name", "tool_call_id" } do
    if message[key] ~= nil then
      ctx:string(path .. "." .. key, message[key])
    end
  end
end

--- Tool messages stand directly after the calls they answer, one for each, in the calls' order.
local function check_pairs(ctx, messages)
  local open = {}
  for i, message in ipairs(messages) do
    local path = ("messages.%d"):format(i - 1)
    if message.role == "tool" then
      local call = table.remove(open, 1)
      if not call then
        ctx:add(path, "a tool message without a call before it")
      elseif call.id ~= message.tool_call_id or call["function"].name ~= message.tool_name then
        ctx:add(path, "%s of %s expected here, the calls' order", tostring(call.id), tostring(call["function"].name))
      end
    else
      if open[1] then
        ctx:add(path, "a tool message expected that answers %s", tostring(open[1].id))
      end
      open = {}
      for k, call in ipairs(json.is_array(message.tool_calls) and message.tool_calls or {}) do
        open[k] = json.is_object(call) and json.is_object(call["function"]) and call or { ["function"] = {} }
      end
    end
  end
  if open[1] then
    ctx:add("messages", "a tool message expected that answers %s", tostring(open[1].id))
  end
end

local function check_messages(ctx, messages)
  if not ctx:array("messages", messages) then
    return
  end
  for i, message in ipairs(messages) do
    local path = ("messages.%d"):format(i - 1)
    if not json.is_object(message) or not MESSAGE_KEYS[message.role] then
      ctx:add(path .. ".role", "system, user, assistant or tool expected")
      return
    end
    check_message(ctx, path, message, i == 1)
  end
  check_pairs(ctx, messages)
end

--- Checks a request to …/api/chat. Returns the decoded body (nil when it is no object) and an array of problems.
return function(request)
  local ctx = check.new()
  local body = ctx:body(request)
  if not body then
    return nil, ctx.problems
  end
  ctx:object("request", body, KEYS, "model messages stream")
  check_settings(ctx, body)
  check_tools(ctx, body.tools)
  check_messages(ctx, body.messages)
  return body, ctx.problems
end
