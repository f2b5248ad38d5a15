--- Strict validation of the tools of Anthropic Messages requests, and of the choice among them. Pure. `ctx`: see
-- check.lua.

local blocks = require "koine.testing.loopback.wire.anthropic.blocks"
local check = require "koine.testing.loopback.check"
local json = require "koine.testing.loopback.json"

local set = check.set

local TOOL_KEYS = set [[type name description input_schema strict cache_control eager_input_streaming input_examples
  defer_loading]]
-- Tools of the provider's own, without the date that ends their type.
local SERVER_TOOLS = set [[advisor bash browser_toolset code_execution computer computer_toolset memory text_editor
  tool_search_tool_bm25 tool_search_tool_regex web_fetch web_search]]
local NAMELESS = set "mcp_toolset"
local UNDATED = set "mcp_toolset tool_search_tool_bm25 tool_search_tool_regex"

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

local function check_tool(ctx, path, tool, names)
  local server_tool = json.is_object(tool) and tool.type ~= nil and tool.type ~= "custom"
  local keys, named = not server_tool and TOOL_KEYS or nil, not (server_tool and NAMELESS[tool.type])
  if not ctx.check:object(path, tool, keys, named and "name" or "type") or not named then
    return
  elseif server_tool then
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
  blocks.cache_mark(ctx, path, tool)
end

local function check_choice(ctx, choice, tools, names)
  if not ctx.check:object("tool_choice", choice, set "type name disable_parallel_tool_use", "type") then
    return
  end
  ctx.check:word("tool_choice.type", choice.type, "auto any tool none")
  ctx.check:boolean("tool_choice.disable_parallel_tool_use", choice.disable_parallel_tool_use)
  if tools == nil then
    ctx.check:add("tool_choice", "may only be specified while providing `tools`")
  elseif choice.type == "tool" and not names[choice.name or false] then
    ctx.check:add("tool_choice.name", "tool %q not found in provided tools", tostring(choice.name))
  elseif choice.type ~= "tool" and choice.name ~= nil then
    ctx.check:add("tool_choice.name", "extra inputs are not permitted")
  end
end

--- Checks the tools of a request, and the choice among them.
return function(ctx, body)
  local names = {}
  if body.tools ~= nil and ctx.check:array("tools", body.tools) then
    for i, tool in ipairs(body.tools) do
      check_tool(ctx, ("tools.%d"):format(i - 1), tool, names)
    end
  end
  if body.tool_choice ~= nil then
    check_choice(ctx, body.tool_choice, body.tools, names)
  end
end
