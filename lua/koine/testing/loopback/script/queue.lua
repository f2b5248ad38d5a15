--- The answers of a script that are still to be given: in their order, those that name a path for that path only.

local paths = require "koine.testing.loopback.paths"

local queue = {}

local methods = {}
local queue_mt = { __index = methods, __name = "koine.testing.queue" }

--- The queue of a script: an array of checked answers, or "echo". Its fields: `count`, the number of answers that name
-- no path; `own`, the paths that answers name, for paths.endpoint; `names`, by answer its place in words.
function queue.new(script)
  local made = { answers = {}, at = 1, by_path = {}, own = {}, names = {} }
  for i, answer in ipairs(script == "echo" and { { echo = true } } or script) do
    made.names[answer] = ("answers[%d]: "):format(i)
    if answer.path then
      local list = made.by_path[answer.path] or {}
      list[#list + 1] = answer
      made.by_path[answer.path] = list
      paths.add(made.own, answer.path)
    else
      made.answers[#made.answers + 1] = answer
    end
  end
  made.count = #made.answers
  return setmetatable(made, queue_mt)
end

--- Takes the next answer for a path: one that names the path, else (`any`) the next of the rest. An echo stays where it
-- is the last one. nil when there is none.
function methods:take(path, any)
  local named = self.by_path[path]
  if named and named[1] then
    return named[1].echo and not named[2] and named[1] or table.remove(named, 1)
  end
  local answer = any and self.answers[self.at]
  if answer and not (answer.echo and self.at == self.count) then
    self.at = self.at + 1
  end
  return answer
end

--- The next answer that names no path; it stays in the queue. nil when there is none.
function methods:peek() return self.answers[self.at] end

return queue
