--- Strict validation of Gemini requests: what the real API refuses is a problem here, and so is what it only forgives.
-- The API with a key and Vertex AI differ in what they know. Pure; `issued` is the memory of what this server handed
-- out (see issued.lua).

local check = require "koine.testing.loopback.check"
local check_config = require "koine.testing.loopback.wire.gemini.config"
local json = require "koine.testing.loopback.json"
local schema = require "koine.testing.loopback.wire.gemini.schema"

local set = check.set

local SHARED = "generationConfig safetySettings systemInstruction tools toolConfig cachedContent contents "
local KEYS, VERTEX_KEYS = set(SHARED .. "serviceTier"), set(SHARED .. "labels")
local VERTEX_COUNT = set "generationConfig systemInstruction tools contents"
local PARTS = "text thought thoughtSignature functionCall functionResponse inlineData fileData executableCode "
  .. "codeExecutionResult videoMetadata mediaResolution "
local PART, VERTEX_PART = set(PARTS .. "toolCall toolResponse partMetadata"), set(PARTS)
local CONTENT = { "text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode",
  "codeExecutionResult", "toolCall", "toolResponse" }
local TOOLS = "googleSearch googleSearchRetrieval urlContext codeExecution googleMaps computerUse "
local HOSTED, VERTEX_HOSTED = set(TOOLS .. "fileSearch"), set(TOOLS .. "enterpriseWebSearch retrieval")
local CONFIGS = "functionCallingConfig retrievalConfig "
local TOOL_CONFIG, VERTEX_TOOL_CONFIG = set(CONFIGS .. "includeServerSideToolInvocations"), set(CONFIGS)
local MADE_UP = "^call_" .. ("%x"):rep(24) .. "$" -- an id that Koine made
local SKIP = "skip_thought_signature_validator"
local NAME, NAME_MEANING = "^[%a_][%w_.:-]*$", "a name that begins with a letter or an underscore"

local function check_blob(ctx, path, blob, key)
  if ctx.check:object(path, blob, set("mimeType displayName " .. key), key == "data" and "mimeType data" or key) then
    if blob.mimeType ~= nil then
      ctx.check:string(path .. ".mimeType", blob.mimeType, "^[%w.+-]+/[%w.+*-]+$", "a MIME type")
    end
    if key == "data" then
      ctx.check:base64(path .. ".data", blob.data)
    else
      ctx.check:string(path .. "." .. key, blob[key])
    end
  end
end

-- An id that no server gives is not known to it.
local function check_id(ctx, path, id)
  if id ~= nil and ctx.check:string(path, id) and id:find(MADE_UP) then
    ctx.check:add(path, "an id that the model gave expected")
  end
end

local function check_call(ctx, path, call)
  if ctx.check:object(path, call, set "name args id", "name args") then
    check_id(ctx, path .. ".id", call.id)
    ctx.check:string(path .. ".name", call.name, NAME, NAME_MEANING)
    if not json.is_object(call.args) then
      ctx.check:add(path .. ".args", "an object expected")
    end
  end
end

local function check_response(ctx, path, response)
  if not ctx.check:object(path, response, set "name response id parts", "name response") then
    return
  end
  ctx.check:string(path .. ".name", response.name, NAME, NAME_MEANING)
  check_id(ctx, path .. ".id", response.id)
  if not json.is_object(response.response) then
    ctx.check:add(path .. ".response", "an object expected")
  end
  if response.parts ~= nil and ctx.check:array(path .. ".parts", response.parts) then
    for i, part in ipairs(response.parts) do
      local at = ("%s.parts[%d]"):format(path, i - 1)
      if ctx.check:object(at, part, set "inlineData", "inlineData") then
        check_blob(ctx, at .. ".inlineData", part.inlineData, "data")
      end
    end
  end
end

-- A signature is one that this server handed out to this model, or the word that stands for none, on a call.
local function check_signature(ctx, path, part)
  local signature = part.thoughtSignature
  if signature == nil or not ctx.check:string(path .. ".thoughtSignature", signature) or ctx.issued.open then
    return
  elseif signature == SKIP then
    if not part.functionCall then
      ctx.check:add(path .. ".thoughtSignature", "only a call may go without one")
    end
  elseif ctx.issued.opaque.gemini[signature] ~= ctx.model then
    ctx.check:add(path .. ".thoughtSignature", "Thought signature is not valid")
  end
end

-- The content of a part: exactly one of its kinds. `streamed`: as in check_part.
local function check_content(ctx, path, part, streamed)
  local contents = 0
  for _, key in ipairs(CONTENT) do
    contents = contents + (part[key] ~= nil and 1 or 0)
  end
  if contents ~= 1 then
    ctx.check:add(path, "exactly one content expected, got %d", contents)
  end
  if part.text ~= nil and type(part.text) ~= "string" then
    ctx.check:add(path .. ".text", "a string expected")
  elseif part.text == "" and part.thoughtSignature == nil and not streamed then
    ctx.check:add(path .. ".text", "an empty text without a signature")
  end
  if part.functionCall ~= nil then
    check_call(ctx, path .. ".functionCall", part.functionCall)
  elseif part.functionResponse ~= nil then
    check_response(ctx, path .. ".functionResponse", part.functionResponse)
  elseif part.inlineData ~= nil then
    check_blob(ctx, path .. ".inlineData", part.inlineData, "data")
  elseif part.fileData ~= nil then
    check_blob(ctx, path .. ".fileData", part.fileData, "fileUri")
  end
end

-- A part of a turn; `streamed`: the turn is one of several of the model's, as a client has them of a stream's chunks.
local function check_part(ctx, path, part, role, streamed)
  if not ctx.check:object(path, part, ctx.vertex and VERTEX_PART or PART) then
    return
  end
  check_content(ctx, path, part, streamed)
  if role == "user" and (part.functionCall or part.thought or part.thoughtSignature) then
    ctx.check:add(path, "a part of the model's in a turn of the user")
  elseif role == "model" and part.functionResponse then
    ctx.check:add(path, "a function response in a turn of the model")
  end
  check_signature(ctx, path, part)
end

-- The parts of a turn with that content, in order.
local function parts_with(turn, key)
  local found = {}
  for _, part in ipairs(turn and json.is_array(turn.parts) and turn.parts or {}) do
    if json.is_object(part) and json.is_object(part[key]) then
      found[#found + 1] = part
    end
  end
  return found
end

-- The answers of a turn stand first, one for each call of the turn before, in the calls' order.
local function check_pairs(ctx, turn, before)
  local calls, answers = parts_with(before, "functionCall"), parts_with(turn, "functionResponse")
  if #calls ~= #answers then
    ctx.check:add(turn.path, "Please ensure that the number of function response parts is equal to the number of " ..
      "function call parts of the function call turn (%d, %d)", #answers, #calls)
    return
  end
  for i, part in ipairs(answers) do
    local call, answer = calls[i].functionCall, part.functionResponse
    if call.name ~= answer.name or call.id ~= answer.id then
      ctx.check:add(("%s.parts[%d]"):format(turn.path, i - 1), "the answer to call %d expected", i)
    end
    if turn.parts[i] ~= part then
      ctx.check:add(("%s.parts[%d]"):format(turn.path, i - 1), "function responses must come before all other content")
    end
  end
end

-- Where the turns begin that the model answers now: behind the last text of the user's.
local function current_turn(turns)
  for i = #turns, 1, -1 do
    if turns[i].role == "user" and #parts_with(turns[i], "functionResponse") == 0 then
      return i
    end
  end
  return 1
end

-- Gemini 3 wants the first call of each of its turns signed.
local function check_signed(ctx, turns)
  if ctx.model:find("gemini%-[12]%.") or ctx.model:find("gemma", 1, true) then
    return
  end
  for i = current_turn(turns), #turns do
    local first = turns[i].role == "model" and parts_with(turns[i], "functionCall")[1]
    if first and first.thoughtSignature == nil then
      ctx.check:add(turns[i].path, "Function call %s is missing a thought_signature", tostring(first.functionCall.name))
    end
  end
end

-- The turns, neighbours of the model's as one: {role, parts, path}. The API takes a stream's chunks back one by one.
local function joined(contents)
  local turns = json.array {}
  for i, content in ipairs(contents) do
    local last = turns[#turns]
    if not last or last.role ~= content.role then
      last = { role = content.role, parts = json.array {}, path = ("contents[%d]"):format(i - 1) }
      turns[#turns + 1] = last
    end
    table.move(content.parts, 1, #content.parts, #last.parts + 1, last.parts)
  end
  return turns
end

local function check_contents(ctx, contents)
  if not ctx.check:array("contents", contents) then
    return
  end
  for i, turn in ipairs(contents) do
    local path, before, after = ("contents[%d]"):format(i - 1), contents[i - 1] or {}, contents[i + 1] or {}
    if not ctx.check:object(path, turn, set "role parts", "role parts") then
      return
    end
    if ctx.check:word(path .. ".role", turn.role, "user model") and before.role == "user" and turn.role == "user" then
      ctx.check:add(path .. ".role", "roles must alternate between user and model")
    end
    local streamed = turn.role == "model" and (before.role == "model" or after.role == "model")
    if not ctx.check:array(path .. ".parts", turn.parts) then
      return
    end
    for k, part in ipairs(turn.parts) do
      check_part(ctx, ("%s.parts[%d]"):format(path, k - 1), part, turn.role, streamed)
    end
  end
  local turns = joined(contents)
  for i, turn in ipairs(turns) do
    check_pairs(ctx, turn, turns[i - 1])
  end
  local last = turns[#turns]
  if #parts_with(last, "functionCall") > 0 then
    ctx.check:add(last.path, "a function call without its response")
  end
  check_signed(ctx, turns)
end

local function check_declaration(ctx, path, declaration)
  if not ctx.check:object(path, declaration, set "name description parameters parametersJsonSchema", "name") then
    return
  end
  ctx.check:string(path .. ".name", declaration.name, NAME, NAME_MEANING)
  if ctx.names[declaration.name] then
    ctx.check:add(path .. ".name", "Duplicate function declaration found: %s", tostring(declaration.name))
  end
  ctx.names[declaration.name] = true
  if declaration.parameters ~= nil and declaration.parametersJsonSchema ~= nil then
    ctx.check:add(path, "parameters and parametersJsonSchema must not both be set")
  end
  schema.check_subset(ctx.check, path .. ".parameters", declaration.parameters, true)
  schema.check(ctx.check, path .. ".parametersJsonSchema", declaration.parametersJsonSchema, true)
end

local function check_tools(ctx, tools)
  if tools == nil or not ctx.check:array("tools", tools) then
    return
  end
  local lists = 0
  for i, tool in ipairs(tools) do
    local path = ("tools[%d]"):format(i - 1)
    if ctx.check:object(path, tool) and tool.functionDeclarations ~= nil then
      lists = lists + 1
      if ctx.check:array(path .. ".functionDeclarations", tool.functionDeclarations) then
        for k, declaration in ipairs(tool.functionDeclarations) do
          check_declaration(ctx, ("%s.functionDeclarations[%d]"):format(path, k - 1), declaration)
        end
      end
    elseif json.is_object(tool) then
      for key in pairs(tool) do
        if not (ctx.vertex and VERTEX_HOSTED or HOSTED)[key] then
          ctx.check:add(path .. "." .. tostring(key), "Unknown name")
        end
      end
    end
  end
  if lists > 1 then
    ctx.check:add("tools", "one list of function declarations expected")
  end
end

local function check_tool_config(ctx, config)
  if config == nil or not ctx.check:object("toolConfig", config, ctx.vertex and VERTEX_TOOL_CONFIG or TOOL_CONFIG) then
    return
  end
  local calling = config.functionCallingConfig
  if calling == nil or not ctx.check:object("toolConfig.functionCallingConfig", calling,
    set "mode allowedFunctionNames", "mode") then
    return
  end
  ctx.check:word("toolConfig.functionCallingConfig.mode", calling.mode, "AUTO ANY NONE VALIDATED")
  if next(ctx.names) == nil then
    ctx.check:add("toolConfig.functionCallingConfig", "Function calling config is set without function_declarations")
  end
  for _, name in ipairs(calling.allowedFunctionNames or {}) do
    if not ctx.names[name] then
      ctx.check:add("toolConfig.functionCallingConfig.allowedFunctionNames", "no such function: %s", tostring(name))
    end
  end
end

-- Checks the labels that a request is billed under: words in lower case.
local function check_labels(ctx, labels)
  if labels == nil or not ctx.check:object("labels", labels) then
    return
  end
  for name, value in pairs(labels) do
    if not name:find("^%l[%l%d_-]*$") or #name > 63 then
      ctx.check:add("labels." .. name, "a name of lower-case letters, digits, _ and - expected")
    elseif type(value) ~= "string" or not value:find("^[%l%d_-]*$") or #value > 63 then
      ctx.check:add("labels." .. name, "a string of lower-case letters, digits, _ and - expected")
    end
  end
end

local function check_body(ctx, body, keys)
  ctx.check:object("request", body, keys, "contents")
  check_labels(ctx, body.labels)
  local system = body.systemInstruction
  if system ~= nil and ctx.check:object("systemInstruction", system, set "role parts", "parts")
    and ctx.check:array("systemInstruction.parts", system.parts) then
    for i, part in ipairs(system.parts) do
      local path = ("systemInstruction.parts[%d]"):format(i - 1)
      if ctx.check:object(path, part, set "text", "text") then
        ctx.check:text(path .. ".text", part.text)
      end
    end
  end
  check_tools(ctx, body.tools)
  check_config(ctx, body.generationConfig)
  check_tool_config(ctx, body.toolConfig)
  if body.cachedContent ~= nil and (system or body.tools or body.toolConfig) then
    ctx.check:add("cachedContent", "cannot be used with system_instruction, tools or tool_config")
  end
  check_contents(ctx, body.contents)
end

--- Checks a request to …/models/NAME:generateContent, :streamGenerateContent, or :countTokens when `count` is set.
-- `issued`: what the server handed out. Returns the decoded body, with `model` and `stream` as the path says them (nil
-- when it is no object), and an array of problems.
return function(request, count, issued)
  local c = check.new()
  local body = c:body(request)
  if not body then
    return nil, c.problems
  end
  local model = request.path:match("([^/]+):%a+$") or ""
  local vertex = request.path:find("/publishers/", 1, true) ~= nil or request.path:find("/projects/", 1, true) ~= nil
  local ctx = { check = c, issued = issued, names = {}, model = model, vertex = vertex }
  local keys = vertex and VERTEX_KEYS or KEYS
  local stream = request.path:find(":streamGenerateContent", 1, true) ~= nil
  if stream and (request.query or {}).alt ~= "sse" then
    c:add("alt", "sse expected: the answer would be an array")
  end
  if count and vertex then
    check_body(ctx, body, VERTEX_COUNT)
    return body, c.problems
  elseif count then
    local wrapped = body.generateContentRequest
    if wrapped == nil and body.contents ~= nil then -- of a text alone
      if c:object("request", body, set "contents") then
        check_contents(ctx, body.contents)
      end
    elseif c:object("request", body, set "generateContentRequest", "generateContentRequest")
      and c:object("generateContentRequest", wrapped, nil, "model") then
      if wrapped.model ~= "models/" .. model then
        c:add("generateContentRequest.model", "%q expected", "models/" .. model)
      end
      wrapped.model = nil
      check_body(ctx, wrapped, KEYS)
    end
    return body, c.problems
  end
  check_body(ctx, body, keys)
  body.model, body.stream = model, stream
  return body, c.problems
end
