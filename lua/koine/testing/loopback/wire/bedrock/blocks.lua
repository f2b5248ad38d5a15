--- Strict validation of the content blocks of Converse requests, and of the cache points beside them. Pure. `ctx`: see
-- check.lua.

local check = require "koine.testing.loopback.check"
local json = require "koine.testing.loopback.json"

local set = check.set

local blocks = {}

local USER = set "text image document video toolResult cachePoint guardContent"
local ASSISTANT = set "text toolUse reasoningContent cachePoint citationsContent toolResult"
local RESULT = set "text json image document video"
local FORMATS = "pdf csv doc docx xls xlsx html txt md"
-- Families whose prompts are cached, whose results have a status and may hold images.
local CACHES = set "claude nova"

--- The one key of a block; nil when it has none, or several.
function blocks.key_of(ctx, path, block)
  local found
  for key in pairs(json.is_object(block) and block or {}) do
    if found then
      ctx.check:add(path, "a block has one key, this one has %s and %s", found, key)
      return nil
    end
    found = key
  end
  if not found then
    ctx.check:add(path, "a block with one key expected")
  end
  return found
end

--- Checks a cache point; `before`: the block in front of it (nil: none).
function blocks.cache_point(ctx, path, mark, before)
  ctx.marks = ctx.marks + 1
  if not CACHES[ctx.family] then
    ctx.check:add(path, "the model does not support prompt caching")
  elseif not before then
    ctx.check:add(path, "a cache point may not be the first block")
  elseif before.document or before.video or before.reasoningContent or before.cachePoint then
    ctx.check:add(path, "a cache point may not follow a document, a video, reasoning or another one")
  end
  if ctx.check:object(path, mark, set "type ttl", "type") then
    ctx.check:word(path .. ".type", mark.type, "default")
    ctx.check:word(path .. ".ttl", mark.ttl, "5m 1h")
  end
end

local function check_source(ctx, path, source)
  local key = blocks.key_of(ctx, path, source)
  if key == "bytes" then
    ctx.check:base64(path .. ".bytes", source.bytes)
  elseif key == "s3Location" then
    ctx.check:object(path .. ".s3Location", source.s3Location, set "uri bucketOwner", "uri")
  elseif key then
    ctx.check:add(path, "unknown source %s", key)
  end
end

local CHECKS = {}

function CHECKS.text(ctx, path, text)
  ctx.check:text(path, text)
end

function CHECKS.image(ctx, path, image)
  if ctx.check:object(path, image, set "format source", "format source") then
    ctx.check:word(path .. ".format", image.format, "png jpeg gif webp")
    check_source(ctx, path .. ".source", image.source)
  end
end

function CHECKS.document(ctx, path, document)
  if not ctx.check:object(path, document, set "format name source context citations", "format name source") then
    return
  end
  local name = document.name
  ctx.check:word(path .. ".format", document.format, FORMATS)
  check_source(ctx, path .. ".source", document.source)
  if ctx.check:string(path .. ".name", name, "^[%w%-%(%)%[%] ]+$", "letters, digits, blanks, -()[]") then
    if name:find "  " or #name > 200 then
      ctx.check:add(path .. ".name", "at most 200 characters, and no two blanks in a row")
    elseif ctx.names[name] then
      ctx.check:add(path .. ".name", "document names must be unique: %s", name)
    end
    ctx.names[name] = true
  end
end

function CHECKS.toolUse(ctx, path, call)
  ctx.tools = true
  if not ctx.check:object(path, call, set "toolUseId name input type", "toolUseId name input") then
    return
  end
  local pattern = ctx.family == "nine_characters" and "^%w%w%w%w%w%w%w%w%w$" or "^[%w_.:-]+$"
  ctx.check:string(path .. ".toolUseId", call.toolUseId, pattern, "an id of the form [a-zA-Z0-9_.:-]{1,64}")
  ctx.check:string(path .. ".name", call.name, "^[%w_-]+$", "a name of the form [a-zA-Z0-9_-]{1,64}")
  if #tostring(call.toolUseId) > 64 or #tostring(call.name) > 64 then
    ctx.check:add(path, "ids and names have at most 64 characters")
  end
  if not json.is_object(call.input) then
    ctx.check:add(path .. ".input", "an object expected")
  end
  if ctx.ids[call.toolUseId or false] then
    ctx.check:add(path .. ".toolUseId", "ids must be unique")
  end
  ctx.ids[call.toolUseId or false] = true
end

function CHECKS.toolResult(ctx, path, result)
  ctx.tools = true
  if not ctx.check:object(path, result, set "toolUseId content status type", "toolUseId content") then
    return
  end
  ctx.check:word(path .. ".status", result.status, "success error")
  if result.status and not CACHES[ctx.family] then
    ctx.check:add(path .. ".status", "the model does not support a status")
  end
  if not ctx.check:array(path .. ".content", result.content) then
    return
  end
  for i, block in ipairs(result.content) do
    local at = ("%s.content.%d"):format(path, i - 1)
    local key = blocks.key_of(ctx, at, block)
    if key and (not RESULT[key] or key == "image" and not CACHES[ctx.family]) then
      ctx.check:add(at, "%s is not permitted in a result", key)
    elseif CHECKS[key] then
      CHECKS[key](ctx, at .. "." .. key, block[key])
    end
  end
end

function CHECKS.reasoningContent(ctx, path, content)
  local key = blocks.key_of(ctx, path, content)
  if key == "redactedContent" then
    local known = ctx.issued.redacted[content.redactedContent]
    if ctx.issued.strict and known ~= ctx.model then
      ctx.check:add(path, "Invalid redactedContent: this server did not issue it for the model")
    end
    return
  elseif key ~= "reasoningText" then
    return ctx.check:add(path, "reasoningText or redactedContent expected")
  end
  local text = content.reasoningText
  if not ctx.check:object(path .. ".reasoningText", text, set "text signature", "text") then
    return
  end
  local known = ctx.issued.thinking[text.signature or false]
  if ctx.family == "claude" and not text.signature then
    ctx.check:add(path, "signature: Field required")
  elseif ctx.issued.strict and not (known and known.text == text.text and known.model == ctx.model) then
    ctx.check:add(path, "Invalid `signature` in reasoning: not issued for this text and model")
  end
end

--- Checks which blocks stand beside each other in one message of the user.
local function check_company(ctx, path, content)
  local seen, others = {}, false
  for i, block in ipairs(content) do
    local key = json.is_object(block) and next(block)
    seen[key or false] = true
    if key == "toolResult" and others then
      ctx.check:add(("%s.%d"):format(path, i - 1), "results must come before all other content")
    end
    others = others or key ~= "toolResult" and key ~= "cachePoint"
  end
  if seen.document and not seen.text then
    ctx.check:add(path, "A text block is required beside a document.")
  elseif seen.toolResult and seen.document and ctx.family == "claude" then
    ctx.check:add(path, "documents may not stand beside tool results")
  elseif seen.toolResult and seen.text and (ctx.family == "llama" or ctx.family == "nine_characters") then
    ctx.check:add(path, "text may not stand beside tool results")
  end
end

--- Checks the content of a message.
function blocks.check(ctx, path, message)
  if not ctx.check:array(path, message.content) then
    return
  end
  local allowed = message.role == "user" and USER or ASSISTANT
  for i, block in ipairs(message.content) do
    local at = ("%s.%d"):format(path, i - 1)
    local key = blocks.key_of(ctx, at, block)
    if key and not allowed[key] then
      ctx.check:add(at, "%s is not permitted here (role %s)", key, message.role)
    elseif key == "cachePoint" then
      blocks.cache_point(ctx, at, block.cachePoint, message.content[i - 1])
    elseif CHECKS[key] then
      CHECKS[key](ctx, at .. "." .. key, block[key])
    end
  end
  if message.role == "user" then
    check_company(ctx, path, message.content)
  end
end

return blocks
