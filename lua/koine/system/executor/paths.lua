--- Paths as words: what a path means without asking the file system. Good for policies, which judge what a model wrote;
-- never for deciding what may be opened (the core's workdir does that).

local paths = {}

--- The components of a path without empty ones and ".": array.
function paths.components(path)
  local parts = {}
  for part in path:gmatch "[^/]+" do
    if part ~= "." then parts[#parts + 1] = part end
  end
  return parts
end

-- The components after every ".." took one away; nil when one goes above the beginning.
local function resolved(parts)
  local left = {}
  for _, part in ipairs(parts) do
    if part ~= ".." then
      left[#left + 1] = part
    elseif not table.remove(left) then
      return nil
    end
  end
  return left
end

--- The components of a path below `root` (an absolute path), "" being the root itself: array, or nil when the path
-- leads outside. A relative path begins at the root. Components are compared, so /repo2 is not below /repo.
function paths.below(path, root)
  local parts = resolved(paths.components(path))
  if path:sub(1, 1) ~= "/" or not parts then return parts end
  local base = paths.components(root)
  for i, part in ipairs(base) do
    if parts[i] ~= part then return nil end
  end
  return table.move(parts, #base + 1, #parts, 1, {})
end

--- The path of `name` in the directory `dir`.
function paths.join(dir, name)
  if dir == "." then return name end
  return dir:sub(-1) == "/" and dir .. name or dir .. "/" .. name
end

return paths
