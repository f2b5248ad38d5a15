--- What no session may do to a repository, told by the words of a tool call. This judges words after the fact: a
-- program says the same thing in more ways than any pattern knows.

local policies = require "koine.system.executor.policies"

local prohibited = {}

local PROTECTED = { main = true, dev = true } -- branches

-- What is wrong with the arguments of a git push (array of words, from the one at `i`).
local function check_push(words, i)
  local remote
  for at = i, #words do
    local word = words[at]
    if word:find "^%-%-force" or word:find "^%-%a*f" or word:find "^%+" then return "git push --force" end
    if not word:find "^%-" then
      local branch = word:match "[^:]*$":gsub("^refs/heads/", "")
      if remote == "origin" and PROTECTED[branch] then return "git push to " .. branch end
      remote = remote or word
    end
  end
end

-- What is wrong with one command of a line.
local function check_command(command)
  local words = {}
  for word in command:gsub("[\"'\\]", ""):gmatch "%S+" do words[#words + 1] = word end
  local i = 1
  while words[i] and not (words[i] == "git" or words[i]:find "/git$") do i = i + 1 end
  i = i + 1
  while words[i] and words[i]:find "^%-" do i = i + (words[i]:find "^%-[cC]$" and 2 or 1) end
  return words[i] == "push" and check_push(words, i + 1) or nil
end

--- Why these words, a command or a path, must not be: a string, or nil.
function prohibited.reason(words)
  for command in policies.commands(words) do
    local reason = check_command(command)
    if reason then return reason end
  end
  return policies.words(words)
end

--- The same for any value: a string, or a table that is searched for strings.
function prohibited.within(value)
  if type(value) == "string" then return prohibited.reason(value) end
  if type(value) ~= "table" then return nil end
  local joined = {}
  for _, member in ipairs(value) do
    if type(member) == "string" then joined[#joined + 1] = member end
  end
  local reason = prohibited.reason(table.concat(joined, " ")) -- an argument vector
  for _, member in next, value do reason = reason or prohibited.within(member) end
  return reason
end

return prohibited
