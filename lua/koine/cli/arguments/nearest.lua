--- The name that a misspelt word may mean.

-- The number of letters to change, add, leave out, or swap with the next one to make b of a (bytes).
local function distance(a, b)
  local before, last = {}, {}
  for j = 0, #b do last[j] = j end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
    before, last = last, row
  end
  return last[#b]
end

--- The name of an array that is nearest to `word`, or nil where none is near: within `most` mistakes (nil: one in three
-- letters, and 1 in shorter words). Of several the first counts.
return function(word, names, most)
  local best, least = nil, math.huge
  for _, name in ipairs(names) do
    local mistakes = distance(word:lower(), name)
    if mistakes <= (most or math.max(1, #name // 3)) and mistakes < least then best, least = name, mistakes end
  end
  return best
end
