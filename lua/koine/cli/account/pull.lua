--- Downloads of models, by a server that runs them itself: a bar on a terminal, else a line for each tenth.

local adapters = require "koine.cli.adapters"
local failure = require "koine.cli.failure"
local terminal = require "koine.cli.terminal"

local pull = {}

local BAR, STATUS = 24, 32 -- characters of the bar, bytes of the words before it: a line fits into 80
local UNITS = { "B", "kB", "MB", "GB", "TB" }

-- provider → whether its models can be downloaded; the first that has some.
local pulls, usual = {}, nil
for _, provider in ipairs(adapters.PROVIDERS) do
  pulls[provider.name] = provider.pulls or false
  usual = usual or provider.pulls and provider.name
end

-- "1.3 GB" for a number of bytes.
local function size(bytes)
  local unit = 1
  while bytes >= 1000 and unit < #UNITS do bytes, unit = bytes / 1000, unit + 1 end
  return (unit == 1 and "%d %s" or "%.1f %s"):format(bytes, UNITS[unit])
end

-- "PROVIDER/MODEL" for what was named: a model without a provider is the usual one's. Fails where there is no model.
local function whole_name(named)
  local provider, model = named:match "^([^/]*)/(.*)$"
  if pulls[provider] == nil then provider, model = usual, named end
  if not model:find "%S" then failure.fail(failure.WRONG_USE, "a model is required (%s/MODEL)", provider) end
  return provider .. "/" .. model
end

-- How far all pieces are that were heard of: bytes that are there, bytes in all.
local function sum(pieces)
  local there, all = 0, 0
  for _, piece in pairs(pieces) do there, all = there + piece.completed, all + piece.total end
  return there, all
end

-- Draws what a step says over what stood there.
local function draw(step, pieces)
  local words, there, all = step.status:sub(1, STATUS), sum(pieces)
  if not step.digest or all == 0 then return terminal.progress(words) end
  local filled = BAR * there // all
  terminal.progress(("%s [%s%s] %3d%% of %s"):format(words, ("#"):rep(filled), ("."):rep(BAR - filled),
    100 * there // all, size(all)))
end

-- Says what a step says in a line, where that is news: another status, another tenth of a piece.
local function say(step, piece, last)
  local words, tenth = step.status, piece and 10 * piece.completed // piece.total
  if piece then words = ("%s: %d%% of %s"):format(words, 10 * tenth, size(piece.total)) end
  if words ~= last.words and not (piece and piece.tenth == tenth) then terminal.say("%s", words) end
  last.words = words
  if piece then piece.tenth = tenth end
end

-- A function for the steps of a download.
local function progress()
  local pieces, last = {}, {}
  return function(step)
    if not step.status then return end
    local piece
    if step.digest and (step.total or 0) > 0 then
      piece = pieces[step.digest] or {}
      pieces[step.digest] = piece
      piece.total, piece.completed = step.total, math.max(0, math.min(step.completed or 0, step.total))
    end
    if terminal.errors then draw(step, pieces) else say(step, piece, last) end
  end
end

-- The seconds that --timeout gives; nil: it is not there.
local function timeout_of(args)
  local seconds
  for _, option in ipairs(args.given or {}) do
    if option[1] == "timeout" and math.type(option[2]) then seconds = option[2] end
  end
  return seconds
end

--- The command `pull`: the exit code. Raises what failed.
function pull.command(args)
  local name = whole_name(args.model)
  local done, err = adapters.adapter_of(args, name):pull(nil, { on_progress = progress(),
    timeout = timeout_of(args) })
  if not done then error(err, 0) end
  terminal.say("%s is there", name)
  return 0
end

return pull
