--- The program gemini as data: see session/cli.lua. Not checked against a release of the program. `type` of a line says
-- what it is:
--   content (role "model", text), thought, tool_call (name, input = object), tool_result, usage (prompt_tokens,
--   candidates_tokens), done (status)

local cli = require "koine.session.cli"
local core = require "koine.core"

local lines = {}

function lines.content(line, sink) sink.output(line.role == "model" and cli.text(line.text)) end

function lines.thought(line, sink) sink.reasoning(cli.text(line.text) or cli.text(line.content)) end

function lines.tool_call(line, sink)
  sink.call(line.name, core.encode(type(line.input) == "table" and line.input or {}), line.id)
end

function lines.tool_result(line, sink)
  sink.result(cli.text(line.output) or cli.text(line.content), line.name, line.id)
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
