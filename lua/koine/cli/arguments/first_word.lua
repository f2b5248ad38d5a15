--- Which command the words of the command line mean. A question needs no command: `koine "Why is the sky blue?"` asks.
-- A misspelt command must not cost money, so one or two words are refused where the first is near to a command's name.

local failure = require "koine.cli.failure"
local nearest = require "koine.cli.arguments.nearest"

local FEW = 2   -- words; more are a question, whatever the first one looks like
local LONG = 5  -- letters of a name in which two mistakes are likely

-- The number of words before the first option.
local function count(words)
  for i, word in ipairs(words) do
    if word:find "^%-" then return i - 1 end
  end
  return #words
end

-- The command that a word may mean: people get the first letter right, or swap it with the second.
local function meant(word, commands)
  local likely = {}
  for _, name in ipairs(commands) do
    local swapped = word:sub(2, 2) .. word:sub(1, 1) == name:sub(1, 2)
    if (word:sub(1, 1):lower() == name:sub(1, 1) or swapped)
      and nearest(word, { name }, #name >= LONG and 2 or 1) then likely[#likely + 1] = name end
  end
  return nearest(word, likely, 2)
end

--- The words with their command first, "ask" where they are a question. `commands` is the array of names; `piped` says
-- that the standard input is no terminal: it alone can be a question. Fails as wrong use for a misspelt command.
return function(words, commands, piped)
  local first = words[1]
  if not first then return piped and { "ask" } or words end
  if first == "--help" or first == "-h" then return words end
  for _, name in ipairs(commands) do
    if first == name then return words end
  end
  local near = not first:find "^%-" and not first:find "%s" and count(words) <= FEW and meant(first, commands)
  if near then
    failure.fail(failure.WRONG_USE,
      "%s: unknown command; did you mean %s? (`koine --help` lists all; a question: `koine ask %s …`)", first, near,
      first)
  end
  return table.move(words, 1, #words, 2, { "ask" })
end
