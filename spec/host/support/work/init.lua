--- The turns of memory_work.c: a file for each theme, a function for each turn. It returns `go` (called while memory
-- fails: true, or nil and an error that tells of it) and `again` (called afterwards: true).

local kit = require "work.kit"

--- The functions `go` and `again` of the turn THEME.NAME.
return function(name, address, directory)
  kit.base, kit.folder = address, directory
  local theme, turn = name:match "^(%w+)%.(.+)$"
  return require("work." .. theme)[turn]()
end
