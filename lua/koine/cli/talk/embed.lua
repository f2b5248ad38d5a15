--- Embeds texts: the words of the command line, each one text, else the lines of the standard input. Writes a vector a
-- line.

local adapters = require "koine.cli.adapters"
local failure = require "koine.cli.failure"
local input = require "koine.cli.input"
local json = require "koine.cli.json"
local koine = require "koine"
local terminal = require "koine.cli.terminal"

local embed = {}

-- The provider to ask where none was named: the first that has embeddings and a key.
local function usual_provider()
  for _, provider in ipairs(adapters.PROVIDERS) do
    if provider.embeds and provider.default_model and adapters.variable(provider) then return provider.name end
  end
  failure.fail(failure.NO_CREDENTIALS, "-m PROVIDER/MODEL is required: no key of a provider with embeddings is set")
end

-- The adapter, and the model that it embeds with: nil for the provider's usual one.
local function chosen(args)
  local name = args.model and adapters.resolve(args.model) or usual_provider()
  local provider, model = name:match "^([^/]*)/?(.*)$"
  if model ~= "" then return adapters.adapter_of(args, name), model end
  for _, known in ipairs(adapters.PROVIDERS) do
    if known.name == provider and not known.default_model then
      failure.fail(failure.WRONG_USE, "a model is required (-m %s/MODEL)", provider)
    end
  end
  return (adapters.adapter_of(args, provider))
end

-- The texts: an array. Blank lines have no vectors: behind one, lines and vectors no longer stand at the same places.
local function texts_of(args)
  local is_input = input.is_asked_for(args.text)
  if args.text[1] and not is_input then return args.text end
  local texts, blank, left_out = {}, 0, 0
  for piped in input.piped(is_input):gmatch "[^\n]*" do
    local line = piped:gsub("\r$", "")
    if line:find "%S" then
      texts[#texts + 1], left_out, blank = line, left_out + blank, 0
    else
      blank = blank + 1
    end
  end
  if left_out > 0 then terminal.say("standard input: blank lines have no vectors; left out: %d", left_out) end
  if texts[1] then return texts end
  failure.fail(failure.WRONG_USE, "a text is required, as an argument or as a line of the standard input")
end

-- Writes the vectors as bytes, which no terminal shall get.
local function write_packed(vectors)
  for _, vector in ipairs(vectors) do
    if not io.stdout:write(vector) then failure.fail(failure.CLOSED_PIPE, "the reader is gone") end
  end
  io.stdout:flush()
end

--- The command `embed`: the exit code.
function embed.command(args)
  if args.packed and terminal.output then
    failure.fail(failure.WRONG_USE, "--packed: a file or a program is required as the output, not a terminal")
  end
  local adapter, model = chosen(args)
  local texts = texts_of(args)
  terminal.progress(("waiting for %d vectors"):format(#texts))
  local result, err = adapter:embed(texts, { model = model, dimensions = args.dimensions, purpose = args.purpose,
    truncate = args.truncate, as = args.packed and "packed" or "table" })
  if not result then error(err, 0) end
  terminal.progress()
  if args.packed then
    write_packed(result.vectors)
  elseif args.json then
    terminal.out(json.encode(result) .. "\n")
  else
    for _, vector in ipairs(result.vectors) do terminal.out(json.encode(koine.array(vector)) .. "\n") end
  end
  for _, warning in ipairs(result.warnings) do terminal.say("warning: %s: %s", warning.field, warning.message) end
  return 0
end

return embed
