--- Patterns of paths: `*` any characters of a name, `?` one, `[a-z]`, `[!a-z]`, `{a,b}`, and `**` for any number of
-- directories. A name that begins with a dot matches only a part that does so too. Matching goes along a path name by
-- name, so that a walk knows which directories cannot lead to a match. A name costs at most its length times the
-- pattern's; patterns are a model's, so their length and their braces have limits.

local glob = {}

--- Bytes of a pattern.
glob.PATTERN_MAX = 4096
local BRACES_MAX = 32       -- pairs of them
local ALTERNATIVES_MAX = 64 -- that braces may make

local DEEP, STAR, ANY = {}, {}, {}

-- Code points of a name; its bytes when it is no UTF-8.
local function codes(name)
  return utf8.len(name) and { utf8.codepoint(name, 1, -1) } or { name:byte(1, -1) }
end

-- Adds to `list` what the pattern stands for once its braces are gone; nil when that is too much.
local function expand(pattern, list)
  local before, inside, after = pattern:match "^(.-){([^{}]*)}(.*)$"
  if not before then
    list[#list + 1] = pattern
    return #list <= ALTERNATIVES_MAX
  end
  for choice in (inside .. ","):gmatch "(.-)," do
    if not expand(before .. choice .. after, list) then return nil end
  end
  return true
end

-- A set "[…]" that begins at code `i`: {negated, pairs of first and last}, and where it ends; nil without an end.
local function read_set(list, i)
  local set, from = { negated = list[i + 1] == 0x21 or list[i + 1] == 0x5E }, i + 1
  if set.negated then from = from + 1 end
  local at = from
  while list[at] and (list[at] ~= 0x5D or at == from) do
    local is_range = list[at + 1] == 0x2D and list[at + 2] and list[at + 2] ~= 0x5D
    set[#set + 1] = { list[at], is_range and list[at + 2] or list[at] }
    at = at + (is_range and 3 or 1)
  end
  if list[at] then return set, at end
end

-- One part of a pattern as tokens: code points, ANY, STAR, sets.
local function tokens(part)
  local made, list, i = { hidden = part:sub(1, 1) == "." }, codes(part), 1
  while list[i] do
    local token, set, stop = list[i], nil, nil
    if token == 0x5B then set, stop = read_set(list, i) end
    if set then
      token, i = set, stop
    elseif token == 0x2A then
      token = STAR
    elseif token == 0x3F then
      token = ANY
    end
    if token ~= STAR or made[#made] ~= STAR then made[#made + 1] = token end
    i = i + 1
  end
  return made
end

local function fits(token, code)
  if type(token) ~= "table" or token == ANY then return token == ANY or token == code end
  local found = false
  for _, range in ipairs(token) do found = found or code >= range[1] and code <= range[2] end
  return found ~= token.negated
end

-- Whether the tokens match the whole name. After a mismatch only the last star takes one more.
local function matches(part, name)
  if name:sub(1, 1) == "." and not part.hidden then return false end
  local list, p, n, star, taken = codes(name), 1, 1, nil, nil
  while n <= #list do
    if part[p] == STAR then
      star, taken, p = p, n, p + 1
    elseif part[p] and fits(part[p], list[n]) then
      p, n = p + 1, n + 1
    elseif star then
      taken = taken + 1
      p, n = star + 1, taken
    else
      return false
    end
  end
  while part[p] == STAR do p = p + 1 end
  return p > #part
end

-- Adds a position in the parts, and those behind it that a `**` for nothing reaches.
local function reach(parts, set, i)
  set[i] = true
  while parts[i] == DEEP do
    i = i + 1
    set[i] = true
  end
end

local function compile_one(pattern)
  local parts = {}
  for part in pattern:gmatch "[^/]+" do
    if part == ".." then return nil, "without .." end
    local made = part == "**" and DEEP or part ~= "." and tokens(part)
    if made and (made ~= DEEP or parts[#parts] ~= DEEP) then parts[#parts + 1] = made end
  end
  local start = {}
  reach(parts, start, 1)
  return { parts = parts, start = start }
end

--- Compiles a pattern: an object for glob.start, or nil and what was expected. Its field `size` is what one byte of a
-- name may cost, in bytes of patterns.
function glob.compile(pattern)
  if pattern == "" then return nil, "not empty" end
  if #pattern > glob.PATTERN_MAX then return nil, ("at most %d bytes"):format(glob.PATTERN_MAX) end
  local _, braces = pattern:gsub("{", "")
  if braces > BRACES_MAX then return nil, ("at most %d pairs of braces"):format(BRACES_MAX) end
  if pattern:sub(1, 1) == "/" then return nil, "relative, without a slash at the beginning" end
  local list, made = {}, { size = 0 }
  if not expand(pattern, list) then return nil, ("at most %d alternatives in braces"):format(ALTERNATIVES_MAX) end
  for i, alternative in ipairs(list) do
    local one, expected = compile_one(alternative)
    if not one then return nil, expected end
    made[i], made.size = one, made.size + #alternative
  end
  return made
end

--- The state before the first name of a path.
function glob.start(compiled)
  local state = {}
  for i, one in ipairs(compiled) do state[i] = one.start end
  return state
end

-- The positions after one name.
local function advance(parts, set, name)
  local after = {}
  for i in pairs(set) do
    local part = parts[i]
    if part == DEEP then
      if name:sub(1, 1) ~= "." then reach(parts, after, i) end
    elseif part and matches(part, name) then
      reach(parts, after, i + 1)
    end
  end
  return after
end

--- The state after one more name of the path; second, whether the path so far matches; third, whether a longer one may.
function glob.step(compiled, state, name)
  local after, done, more = {}, false, false
  for i, one in ipairs(compiled) do
    after[i] = advance(one.parts, state[i], name)
    for position in pairs(after[i]) do
      if position > #one.parts then done = true else more = true end
    end
  end
  return after, done, more
end

return glob
