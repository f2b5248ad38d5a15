--- The program gemini as data: see session/cli.lua. Not checked against a release of the program. `type` of a line says
-- what it is:
--   content (role "model", text), thought, tool_call (name, input = object), tool_result, usage (prompt_tokens,
--   candidates_tokens), done (status)
--
-- May call: koine.core, session.cli.

local cli = require "koine.session.cli"
local core = require "koine.core"

local lines = {}

function lines.content(line, sink)
  local text = line.role == "model" and cli.text(line.text)
  if text then sink.event { kind = "output", content = text } end
end

function lines.thought(line, sink)
  local text = cli.text(line.text) or cli.text(line.content)
  if text then sink.event { kind = "reasoning", content = text } end
end

function lines.tool_call(line, sink)
  local input = type(line.input) == "table" and line.input or {}
  sink.event { kind = "tool_call", tool_name = cli.string(line.name), tool_input = core.encode(input),
    tool_call_id = cli.string(line.id) }
end

function lines.tool_result(line, sink)
  sink.event { kind = "tool_result", content = cli.text(line.output) or cli.text(line.content) or "",
    tool_name = cli.string(line.name), tool_call_id = cli.string(line.id) }
end

function lines.usage(line, sink) sink.usage(line.prompt_tokens, line.candidates_tokens) end

function lines.done(line, sink) sink.done(line.status) end

return {
  name = "gemini", program = "gemini",
  flags = { "--sandbox" }, required = { "--sandbox", orchestrator = { "--readonly" } },
  roles = { orchestrator = { "--readonly" } },
  output = { "--output-format", "json" }, model = "--model",
  lines = lines,
}
