--- Strict validation of the `input` of OpenAI Responses requests: items, their parts, calls and their outputs, and what
-- comes back of what this server issued (see issued.lua). Pure.

local check = require "koine.testing.loopback.check"
local json = require "koine.testing.loopback.json"

local set = check.set

local ITEM_KEYS = {
  input = set "type role content",
  message = set "type role content id status phase",
  function_call = set "type call_id name arguments id status namespace",
  function_call_output = set "type call_id output id status",
  reasoning = set "type id summary content encrypted_content status",
  item_reference = set "type id",
}
local PART_KEYS = {
  input_text = set "type text",
  input_image = set "type image_url file_id detail",
  input_file = set "type filename file_data file_url file_id",
  output_text = set "type text annotations logprobs",
  refusal = set "type refusal",
  summary_text = set "type text",
  reasoning_text = set "type text",
}
local PARTS = { user = "input_text input_image input_file", system = "input_text", developer = "input_text",
                assistant = "output_text refusal" }
local OPAQUE = set [[web_search_call file_search_call code_interpreter_call image_generation_call computer_call
  computer_call_output mcp_call mcp_list_tools mcp_approval_request mcp_approval_response custom_tool_call
  custom_tool_call_output local_shell_call local_shell_call_output shell_call shell_call_output apply_patch_call
  apply_patch_call_output compaction]]
local PREFIXES = { message = "msg", reasoning = "rs", function_call = "fc" }

-- `ctx` is what one request is checked with: {check = collector, issued, body, open = calls without an answer, by id,
-- ids = item ids seen, code = of the error where it has one of its own}.

--- The object without the members that are null: items come back as they were delivered, nulls included.
local function without_nulls(item)
  local plain = {}
  for key, value in pairs(item) do
    if value ~= json.null then
      plain[key] = value
    end
  end
  return plain
end

local function check_data_url(ctx, path, url)
  local data = ctx.check:string(path, url) and url:match("^data:[%w.+/-]+;base64,(.*)$")
  if data then
    ctx.check:base64(path, data)
  elseif type(url) == "string" then
    ctx.check:add(path, "a data URL of the form data:TYPE;base64,DATA expected")
  end
end

--- Exactly one of the keys (words) has to be there.
local function check_one(ctx, path, part, keys)
  local count = 0
  for key in keys:gmatch("%S+") do
    count = count + (part[key] ~= nil and 1 or 0)
    if part[key] ~= nil then
      ctx.check:string(path .. "." .. key, part[key])
    end
  end
  if count ~= 1 then
    ctx.check:add(path, "exactly one of %s expected", (keys:gsub(" ", ", ")))
  end
end

local PART_CHECKS = {}

function PART_CHECKS.input_text(ctx, path, part)
  ctx.check:string(path .. ".text", part.text)
end

PART_CHECKS.summary_text, PART_CHECKS.reasoning_text = PART_CHECKS.input_text, PART_CHECKS.input_text

--- Azure and vLLM refuse the model's own text without `annotations`.
function PART_CHECKS.output_text(ctx, path, part)
  PART_CHECKS.input_text(ctx, path, part)
  if not json.is_array(part.annotations) then
    ctx.check:add(path .. ".annotations", "an array expected, even if empty")
  end
end

function PART_CHECKS.refusal(ctx, path, part)
  ctx.check:string(path .. ".refusal", part.refusal)
end

function PART_CHECKS.input_image(ctx, path, part)
  check_one(ctx, path, part, "image_url file_id")
  ctx.check:word(path .. ".detail", part.detail, "low high auto original")
  local url = part.image_url
  if type(url) == "string" and not url:find("^https?://") then
    check_data_url(ctx, path .. ".image_url", url)
  end
end

function PART_CHECKS.input_file(ctx, path, part)
  check_one(ctx, path, part, "file_data file_url file_id")
  if part.file_data ~= nil then
    ctx.check:string(path .. ".filename", part.filename)
    check_data_url(ctx, path .. ".file_data", part.file_data)
  elseif part.file_url ~= nil then
    ctx.check:string(path .. ".file_url", part.file_url, "^https?://", "an http or https URL")
  end
end

--- An array of parts whose types are among `types` (words); it may be empty when `some` is false.
local function check_parts(ctx, path, parts, types, some)
  if some == false and json.is_array(parts) and #parts == 0 or not ctx.check:array(path, parts) then
    return
  end
  for i, part in ipairs(parts) do
    local at = ("%s.%d"):format(path, i - 1)
    local kind = json.is_object(part) and part.type or "none"
    if ctx.check:word(at .. ".type", kind, types) then
      ctx.check:object(at, part, PART_KEYS[kind])
      PART_CHECKS[kind](ctx, at, part)
    end
  end
end

--- The id of an item that the server made: its form, its kind, and that it comes once.
local function check_id(ctx, path, item, kind, previous)
  local id = item.id
  if id == nil or not ctx.check:string(path .. ".id", id) then
    return
  end
  local known, prefix = ctx.issued.items[id], PREFIXES[kind]
  if known and known.kind ~= kind then
    ctx.check:add(path .. ".id", "this id belongs to an item of type %s", known.kind)
  elseif not known and id:sub(1, #prefix) ~= prefix then
    ctx.check:add(path .. ".id", "Invalid '%s.id': '%.64s'. Expected an ID that begins with '%s'", path, id, prefix)
  elseif known and known.reasoned and kind ~= "reasoning" and (not previous or previous.type ~= "reasoning") then
    ctx.check:add(path, "Item '%.64s' of type '%s' was provided without its required 'reasoning' item", id, kind)
  end
  if ctx.ids[id] then
    ctx.check:add(path .. ".id", "Duplicate item found with id %.64s", id)
  end
  ctx.ids[id] = true
end

local ITEMS = {}

function ITEMS.message(ctx, path, item, index, previous)
  local role = item.role
  if not PARTS[role] then
    return ctx.check:add(path .. ".role", "user, system, developer or assistant expected")
  end
  local ours = role == "assistant"
  -- llama-server tells the items of the assistant by their type alone; vLLM refuses them without id and status.
  ctx.check:object(path, item, ITEM_KEYS[ours and "message" or "input"], ours and "type id status content" or "content")
  if (role == "system" or role == "developer") and index > 1 then
    ctx.check:add(path .. ".role", "%s may only be the first item", role)
  end
  if type(item.content) == "string" and not ours then
    ctx.check:string(path .. ".content", item.content)
  else
    check_parts(ctx, path .. ".content", item.content, PARTS[role])
  end
  if ours then
    check_id(ctx, path, item, "message", previous)
    ctx.check:word(path .. ".status", item.status, "in_progress completed incomplete")
    ctx.check:word(path .. ".phase", item.phase, "commentary final_answer")
  elseif next(ctx.open) then
    ctx.check:add(path, "No tool output found for function call %s", next(ctx.open))
  end
end

local function check_call_id(ctx, path, id)
  if ctx.check:string(path, id) and #id > 64 then
    ctx.check:add(path, "string too long: at most 64 characters expected, got %d", #id)
  end
end

function ITEMS.function_call(ctx, path, item, _, previous)
  ctx.check:object(path, item, ITEM_KEYS.function_call, "call_id name arguments")
  check_call_id(ctx, path .. ".call_id", item.call_id)
  check_id(ctx, path, item, "function_call", previous)
  ctx.check:string(path .. ".name", item.name, "^[%w_-]+$", "a name of the form ^[a-zA-Z0-9_-]{1,64}$")
  if type(item.arguments) ~= "string" then
    ctx.check:add(path .. ".arguments", "a string expected")
  elseif not json.is_object(json.decode(item.arguments)) then
    ctx.check:add(path .. ".arguments", "the text of a JSON object expected")
  end
  if ctx.open[item.call_id or false] then
    ctx.check:add(path .. ".call_id", "duplicate call_id %s", tostring(item.call_id))
  end
  ctx.open[item.call_id or "?"] = true
end

function ITEMS.function_call_output(ctx, path, item)
  ctx.check:object(path, item, ITEM_KEYS.function_call_output, "call_id output")
  check_call_id(ctx, path .. ".call_id", item.call_id)
  if not ctx.open[item.call_id or false] then
    ctx.check:add(path .. ".call_id", "No tool call found for function call output with call_id %s",
      tostring(item.call_id))
  end
  ctx.open[item.call_id or "?"] = nil
  if type(item.output) ~= "string" then -- a tool may answer nothing
    check_parts(ctx, path .. ".output", item.output, PARTS.user)
  end
end

--- Checks that an item issued with an encrypted content goes back as it was: model, id, summary.
local function check_encrypted(ctx, path, item)
  local known = ctx.issued.encrypted[item.encrypted_content]
  if not known or known.model ~= ctx.body.model then
    if known or ctx.issued.strict then
      ctx.code = "invalid_encrypted_content"
      ctx.check:add(path .. ".encrypted_content", "The encrypted content could not be verified: %s",
        known and "issued for model " .. known.model or "this server never issued it")
    end
    return
  end
  if item.id ~= nil and not known.ids[item.id] then
    ctx.code = "invalid_encrypted_content"
    ctx.check:add(path .. ".id", "Encrypted content item_id did not match the target item id")
  end
  for i = 1, math.max(#known.parts, #item.summary) do
    local part = item.summary[i]
    if type(part) ~= "table" or part.text ~= known.parts[i] then
      ctx.check:add(("%s.summary.%d"):format(path, i - 1), "reasoning items cannot be modified")
    end
  end
  return known
end

--- True when `follower` can be the item that a reasoning item led to, and is, where what was issued is `known`.
local function follows(known, follower)
  if not json.is_object(follower) then
    return false
  end
  local kind = follower.type or "message"
  kind = ITEMS[kind] and kind or "opaque"
  if kind == "message" and follower.role ~= "assistant" or kind == "function_call_output" then
    return false
  elseif not known then
    return true
  end
  -- No server issues ids longer than 64 characters: where the script did, they were shortened.
  return known.follower == kind and (kind ~= "function_call" or known.call_id == follower.call_id
    or #known.call_id > 64)
end

function ITEMS.reasoning(ctx, path, item, _, previous, follower)
  ctx.check:object(path, item, ITEM_KEYS.reasoning, "summary")
  check_parts(ctx, path .. ".summary", item.summary, "summary_text", false)
  if item.content ~= nil then
    check_parts(ctx, path .. ".content", item.content, "reasoning_text", false)
  end
  check_id(ctx, path, item, "reasoning", previous)
  local known
  if item.encrypted_content ~= nil then
    if ctx.check:string(path .. ".encrypted_content", item.encrypted_content) and json.is_array(item.summary) then
      known = check_encrypted(ctx, path, item)
    end
  elseif ctx.body.store == false then
    ctx.check:add(path, "Item with id '%s' not found. Items are not persisted when `store` is set to false",
      tostring(item.id))
  elseif item.id == nil then
    ctx.check:add(path, "id or encrypted_content expected")
  end
  if not follows(known, follower) then
    ctx.check:add(path, "Item '%s' of type 'reasoning' was provided without its required following item",
      tostring(item.id):sub(1, 64))
  end
end

function ITEMS.item_reference(ctx, path, item)
  ctx.check:object(path, item, ITEM_KEYS.item_reference, "id")
  if ctx.body.store == false then
    ctx.check:add(path, "Item with id '%s' not found. Items are not persisted when `store` is set to false",
      tostring(item.id))
  elseif not ctx.issued.items[item.id or false] then
    ctx.check:add(path .. ".id", "Item with id '%s' not found", tostring(item.id))
  end
end

local function check_item(ctx, path, given, index, previous, follower)
  if not json.is_object(given) then
    return ctx.check:add(path, "an object expected")
  end
  local kind, opaque = given.type or given.role and "message", ctx.issued.opaque.responses
  local known = opaque[json.encode(given)]
  if known then
    return nil -- as it was issued
  elseif given.type == nil and given.role == "assistant" then
    return ctx.check:add(path, "Cannot determine type of 'item'")
  elseif ITEMS[kind] then
    local ours = kind ~= "function_call_output" and (not given.role or given.role == "assistant")
    return ITEMS[kind](ctx, path, ours and without_nulls(given) or given, index, previous, follower)
  end
  if not OPAQUE[kind] then
    ctx.check:add(path .. ".type", "Invalid value: '%s'", tostring(kind))
  elseif ctx.issued.strict and next(opaque) then
    ctx.check:add(path, "this server never issued this %s item", kind)
  end
end

--- Checks the input of a request, after what its previous response asked for.
return function(ctx)
  local input, before = ctx.body.input, ctx.body.previous_response_id
  if before ~= nil and ctx.check:string("previous_response_id", before) then
    for _, id in ipairs(ctx.issued.stored[before] or {}) do
      ctx.open[id] = true
    end
    if not ctx.issued.stored[before] then
      ctx.check:add("previous_response_id", "Previous response with id '%s' not found", before)
    end
  end
  if type(input) == "string" then
    ctx.check:text("input", input)
  elseif ctx.check:array("input", input) then
    for i, item in ipairs(input) do
      check_item(ctx, ("input.%d"):format(i - 1), item, i, input[i - 1], input[i + 1])
    end
  end
  if next(ctx.open) then
    ctx.check:add("input", "No tool output found for function call %s", next(ctx.open))
  end
end
