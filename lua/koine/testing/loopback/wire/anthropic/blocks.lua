--- Strict validation of the content blocks of Anthropic Messages requests, and of the cache marks that they and others
-- carry. Pure. `ctx`: see check.lua.

local check = require "koine.testing.loopback.check"
local json = require "koine.testing.loopback.json"

local set = check.set

local blocks = {}

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
local ONLY = {
  image = "user", document = "user", search_result = "user", tool_result = "user",
  tool_use = "assistant", thinking = "assistant", redacted_thinking = "assistant",
}
local OPAQUE = set [[server_tool_use web_search_tool_result web_fetch_tool_result code_execution_tool_result
  bash_code_execution_tool_result text_editor_code_execution_tool_result tool_search_tool_result container_upload
  mcp_tool_use mcp_tool_result advisor_tool_result compaction fallback]]

--- Checks the cache mark of `holder`, if it carries one.
function blocks.cache_mark(ctx, path, holder)
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
  elseif ctx.host.data_only and (source.type == "url" or source.type == "file") then
    ctx.check:add(path .. ".type", "%s sources are not supported here", source.type)
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
    blocks.check(ctx, path .. ".content", block.content, "user", set "text image document search_result")
    for _, one in ipairs(block.is_error == true and block.content or {}) do
      if one.type ~= "text" then
        ctx.check:add(path, "all content must be type `text` if `is_error` is true")
        break
      end
    end
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

--- Checks an array of blocks in a message of this role. `types` (a set; nil: any) narrows the types allowed.
function blocks.check(ctx, path, list, role, types)
  if not ctx.check:array(path, list) then
    return
  end
  for i, block in ipairs(list) do
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
      blocks.cache_mark(ctx, at, block)
    end
  end
end

return blocks
