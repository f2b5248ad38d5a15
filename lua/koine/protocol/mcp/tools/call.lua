--- Calls of a server's tool by a model: the function `run` of its koine.tool.

local content = require "koine.protocol.mcp.tools.content"
local core = require "koine.core"
local header = require "koine.protocol.mcp.tools.header"
local judge = require "koine.data.schema.judge"

local call = {}

-- Errors that are not the model's: they end the run of an agent.
local ENDS_THE_RUN = { executor = true, cancelled = true }

--- What is wrong with a result of a tool whose entry has an output_schema, in words; nil where nothing is.
function call.problem(entry, result)
  local schema = entry.output_schema
  if schema == nil or result.is_error then return nil end
  local structured = result.structured
  if structured == nil then return "no structuredContent, which the outputSchema promises" end
  local ran, fits, why = pcall(judge.validate, schema, schema, structured, "structuredContent", true)
  if not ran then return "an outputSchema that cannot be judged" end
  return not fits and why or nil
end

--- The function `run` of a tool. `entry` is what `send` gets: {server, name, plan, output_schema, …}; `opts` has
-- send(entry, arguments_json, ctx, headers) → what client:call returns; words(err) → what the model is told of an
-- error; warn(warning).
function call.run(entry, opts)
  return function(arguments, ctx)
    local own = ctx and ctx.call and ctx.call.arguments_json -- nulls and numbers go out as the model wrote them
    local result, err = opts.send(entry, own or core.encode(arguments), ctx,
      entry.plan and header.values(entry.plan, arguments))
    if not result then
      if ENDS_THE_RUN[err.kind] then return nil, err end
      return opts.words(err), { is_error = true }
    end
    local problem = call.problem(entry, result)
    if problem then opts.warn { code = "output_schema", field = entry.name, message = problem } end
    local blocks = content.blocks(result)
    return #blocks > 0 and blocks or nil, { is_error = result.is_error }
  end
end

return call
