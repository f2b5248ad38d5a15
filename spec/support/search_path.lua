-- A search path of Lua (package.path, package.cpath) for a program that runs in another directory: function(paths) →
-- the same with each part from the root on.

local lfs = require "lfs"

return function(paths)
  return (paths:gsub("[^;]+", function(path)
    return path:sub(1, 1) == "/" and path or lfs.currentdir() .. "/" .. path:gsub("^%./", "")
  end))
end
