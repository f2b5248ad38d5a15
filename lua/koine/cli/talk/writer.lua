--- Writes answers: whether as they arrive, and each piece of them.

local terminal = require "koine.cli.terminal"

local writer = {}

--- Whether texts are written as they arrive, by the arguments of a command.
function writer.streams(args)
  if args.json or args.extract or args.schema then return false end
  return args.stream or not args.no_stream and terminal.output
end

--- A function of one delta that writes texts, and shows what the model thinks, or that it does. `name` is the model's;
-- with `by_block` each text ends its line.
function writer.deltas(name, by_block)
  local spoke, shown = false, false
  return function(delta)
    if delta.type == "text_delta" then
      spoke = true
      terminal.answer(delta.text)
    elseif delta.type == "text_end" and by_block then
      spoke = false
      terminal.end_line()
    elseif delta.type == "thinking_start" and not spoke then
      terminal.progress(name .. " is thinking")
    elseif delta.type == "thinking_delta" and not spoke then
      shown = terminal.thought(delta.text) or shown
    elseif delta.type == "thinking_end" and shown then
      shown = false
      terminal.end_line()
    end
  end
end

return writer
