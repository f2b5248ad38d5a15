--- The program codex as data: see session/cli.lua. Not checked against a release of the program. `type` of a line says
-- what it is:
--   message (role "assistant"), reasoning, function_call (name, arguments = JSON text), function_call_output, usage
--   (input_tokens, output_tokens), done (status)

local cli = require "koine.session.cli"

local lines = {}

function lines.message(line, sink) sink.output(line.role == "assistant" and cli.text(line.content)) end

function lines.reasoning(line, sink) sink.reasoning(cli.text(line.content) or cli.text(line.text)) end

function lines.function_call(line, sink)
  sink.call(line.name, type(line.arguments) == "string" and line.arguments or "{}", line.call_id)
end

function lines.function_call_output(line, sink) sink.result(cli.text(line.output), line.name, line.call_id) end

function lines.usage(line, sink) sink.usage(line.input_tokens, line.output_tokens) end

function lines.done(line, sink) sink.done(line.status) end

return {
  name = "codex", program = "codex",
  flags = { "--approval-mode", "full-auto", "--sandbox" }, required = { "--sandbox" }, roles = {},
  output = { "--output-format", "json" }, model = "--model",
  lines = lines,
}
