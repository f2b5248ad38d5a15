--- Regular expressions of JSON Schema (ECMA-262's) as tests of text. All alternatives are followed at the same time, a
-- character after the other: no expression takes longer than its length times the text's.
-- Look-around, back-references and properties of Unicode (\p) are not supported: such an expression is not compiled.
-- Written here: the engines that Lua has (PCRE, Oniguruma) go back, which takes time without end for some expressions,
-- and models write the texts.

local pattern = {}

local SIZE_MAX = 5000  -- steps of a program; {1000} of {1000} ends here
local KEPT_MAX = 200   -- programs that are kept
local GROUPS_MAX = 100 -- in each other

-- Sets of characters: function(code point) → boolean -----------------------------------------------------------------

local function between(first, last) return function(c) return c >= first and c <= last end end

local function any_of(sets)
  if #sets == 1 then return sets[1] end
  return function(c)
    for i = 1, #sets do
      if sets[i](c) then return true end
    end
    return false
  end
end

local function none_of(set) return function(c) return not set(c) end end

local function is_word(c)
  return c >= 48 and c <= 57 or c >= 65 and c <= 90 or c == 95 or c >= 97 and c <= 122
end

local function is_space(c)
  return c >= 9 and c <= 13 or c == 32 or c == 0xA0 or c == 0xFEFF or c == 0x1680 or c >= 0x2000 and c <= 0x200A
    or c == 0x2028 or c == 0x2029 or c == 0x202F or c == 0x205F or c == 0x3000
end

local function is_line_end(c) return c == 10 or c == 13 or c == 0x2028 or c == 0x2029 end

local is_digit = between(48, 57)
local CLASSES = { d = is_digit, D = none_of(is_digit), w = is_word, W = none_of(is_word), s = is_space,
  S = none_of(is_space) }
local CONTROLS = { t = 9, n = 10, v = 11, f = 12, r = 13 }

-- Reading ------------------------------------------------------------------------------------------------------------
-- A reader is {text, at, groups}. Nodes are {"set", f}, {"assert", name}, {"cat", …}, {"alt", …},
-- {"repeat", node, least, most (nil: no end)}. What cannot be read raises Unsupported.

local Unsupported = {}

local function unsupported(why) error(setmetatable({ why = why }, Unsupported), 0) end

local function take(reader, text)
  if reader.text:sub(reader.at, reader.at + #text - 1) ~= text then return false end
  reader.at = reader.at + #text
  return true
end

-- The next character as a code point.
local function next_code(reader)
  local ok, code = pcall(utf8.codepoint, reader.text, reader.at)
  if not ok then unsupported "it ends too early" end
  reader.at = reader.at + #utf8.char(code)
  return code
end

local function hex(reader, shape)
  local digits = reader.text:match("^" .. shape, reader.at)
  if not digits then return nil end
  reader.at = reader.at + #digits
  return tonumber((digits:gsub("[{}]", "")), 16)
end

-- Reads the escape that a backslash begins, and passes it: a code point, or nil and a set.
local function read_escape(reader)
  local c = reader.text:sub(reader.at, reader.at)
  if CLASSES[c] then
    reader.at = reader.at + 1
    return nil, CLASSES[c]
  end
  if c:find "[1-9kpP]" then unsupported("\\" .. c) end
  if CONTROLS[c] then
    reader.at = reader.at + 1
    return CONTROLS[c]
  end
  if c == "0" then
    reader.at = reader.at + 1
    return 0
  elseif c == "c" then
    local letter = reader.text:match("^c(%a)", reader.at)
    if not letter then unsupported "\\c" end
    reader.at = reader.at + 2
    return letter:byte() % 32
  elseif c == "x" or c == "u" then
    reader.at = reader.at + 1
    local code = c == "x" and hex(reader, "%x%x") or c == "u" and (hex(reader, "%x%x%x%x") or hex(reader, "{%x+}"))
    if not code then unsupported("\\" .. c) end
    if code >= 0xD800 and code < 0xDC00 and take(reader, "\\u") then
      local low = hex(reader, "%x%x%x%x") or 0
      if low < 0xDC00 or low > 0xDFFF then unsupported "half a character" end
      code = 0x10000 + (code - 0xD800) * 0x400 + low - 0xDC00
    end
    return code
  end
  return next_code(reader)
end

-- One character of a class: a code point, or nil and a set.
local function read_member(reader)
  if not take(reader, "\\") then return next_code(reader) end
  if take(reader, "b") then return 8 end
  return read_escape(reader)
end

-- [abc], the opening bracket passed.
local function read_class(reader)
  local negated, sets = take(reader, "^"), {}
  while not take(reader, "]") do
    local first, set = read_member(reader)
    if first and reader.text:find("^%-[^%]]", reader.at) then
      reader.at = reader.at + 1
      local last, other = read_member(reader)
      if last and last < first then unsupported "a range that runs backwards" end
      sets[#sets + 1] = last and between(first, last) or any_of { between(first, first), between(45, 45), other }
    else
      sets[#sets + 1] = set or between(first, first)
    end
  end
  local set = #sets > 0 and any_of(sets) or function() return false end
  return { "set", negated and none_of(set) or set }
end

local read_alternatives

local function read_group(reader)
  if take(reader, "?") and not take(reader, ":") then
    if not reader.text:find("^<[%a_$]", reader.at) then unsupported "look-around" end
    reader.at = reader.text:find(">", reader.at, true) or unsupported "a group's name without an end"
    reader.at = reader.at + 1
  end
  reader.groups = reader.groups + 1
  if reader.groups > GROUPS_MAX then unsupported "groups nested too deeply" end
  local node = read_alternatives(reader)
  if not take(reader, ")") then unsupported "a group without an end" end
  reader.groups = reader.groups - 1
  return node
end

-- Reads one atom: its node; nil at the end of an alternative.
local function read_atom(reader)
  local c = reader.text:sub(reader.at, reader.at)
  if c == "" or c == "|" or c == ")" then return nil end
  if take(reader, "^") then return { "assert", "first" } end
  if take(reader, "$") then return { "assert", "last" } end
  if take(reader, "\\b") then return { "assert", "edge" } end
  if take(reader, "\\B") then return { "assert", "inside" } end
  if take(reader, "(") then return read_group(reader) end
  if take(reader, "[") then return read_class(reader) end
  if take(reader, ".") then return { "set", none_of(is_line_end) } end
  if c:find "[*+?]" then unsupported "nothing to repeat" end
  local code, set
  if take(reader, "\\") then code, set = read_escape(reader) else code = next_code(reader) end
  return { "set", set or between(code, code) }
end

-- How often the atom before may stand: least, most; nil where nothing says so.
local function read_times(reader)
  local least, most
  if take(reader, "*") then least = 0
  elseif take(reader, "+") then least = 1
  elseif take(reader, "?") then least, most = 0, 1
  else
    local whole, from, comma, to = reader.text:match("^({(%d+)(,?)(%d*)})", reader.at)
    if not whole then return nil end
    reader.at = reader.at + #whole
    least, most = tonumber(from), tonumber(to)
    if comma == "" then most = least end
    if most and most < least or least > SIZE_MAX or (most or 0) > SIZE_MAX then unsupported(whole) end
  end
  take(reader, "?") -- lazy: the same texts fit
  return least, most
end

function read_alternatives(reader)
  local alternatives, atoms = { "alt" }, { "cat" }
  while true do
    local atom = read_atom(reader)
    if atom then
      local least, most = read_times(reader)
      atoms[#atoms + 1] = least and { "repeat", atom, least, most } or atom
    else
      alternatives[#alternatives + 1], atoms = atoms, { "cat" }
      if not take(reader, "|") then return alternatives end
    end
  end
end

-- Programs -----------------------------------------------------------------------------------------------------------
-- A step is {set = f}, {assert = name}, {to, to, …} (goes on at each of them) or {fits = true}.

local emit

local function put(program, step)
  program[#program + 1] = step
  if #program > SIZE_MAX then unsupported "too long" end
  return step
end

local function emit_repeat(program, node)
  local _, inner, least, most = table.unpack(node, 1, 4)
  for _ = 1, least do emit(program, inner) end
  if not most then
    local split = put(program, {})
    local start = #program
    split[1] = start + 1
    emit(program, inner)
    put(program, { start })
    split[2] = #program + 1
    return
  end
  local splits = {}
  for i = 1, most - least do
    splits[i] = put(program, {})
    splits[i][1] = #program + 1
    emit(program, inner)
  end
  for _, split in ipairs(splits) do split[2] = #program + 1 end
end

function emit(program, node)
  local kind = node[1]
  if kind == "set" then put(program, { set = node[2] })
  elseif kind == "assert" then put(program, { assert = node[2] })
  elseif kind == "repeat" then emit_repeat(program, node)
  elseif kind == "cat" then
    for i = 2, #node do emit(program, node[i]) end
  else
    local split, ends = put(program, {}), {}
    for i = 2, #node do
      split[#split + 1] = #program + 1
      emit(program, node[i])
      ends[#ends + 1] = put(program, {})
    end
    for _, step in ipairs(ends) do step[1] = #program + 1 end
  end
end

local function compiled(text)
  local reader, program = { text = text, at = 1, groups = 0 }, {}
  local tree = read_alternatives(reader)
  if reader.at <= #text then unsupported "a bracket too many" end
  emit(program, tree)
  program[#program + 1] = { fits = true }
  return program
end

-- Running ------------------------------------------------------------------------------------------------------------

-- Whether an assertion holds between two characters, nil at the ends.
local function holds(name, before, after)
  if name == "first" then return before == nil end
  if name == "last" then return after == nil end
  local edge = (before ~= nil and is_word(before)) ~= (after ~= nil and is_word(after))
  return edge == (name == "edge")
end

-- Adds the steps that wait for a character, from `at` on; true when the end is reached. `seen` is by step, the
-- position.
local function follow(program, at, position, before, after, waiting, seen)
  local open = { at }
  while open[1] do
    local here = table.remove(open)
    local step = program[here]
    if seen[here] ~= position then
      seen[here] = position
      if step.fits then return true end
      if step.set then waiting[#waiting + 1] = here
      elseif step.assert then
        if holds(step.assert, before, after) then open[#open + 1] = here + 1 end
      else
        for i = #step, 1, -1 do open[#open + 1] = step[i] end
      end
    end
  end
  return false
end

local function fits(program, text)
  local waiting, seen, before, position, codes = {}, {}, nil, 0, {}
  for _, code in utf8.codes(text) do codes[#codes + 1] = code end
  while true do
    local after = codes[position + 1]
    local next_waiting = {}
    position = position + 1
    for i = 1, #waiting do
      if program[waiting[i]].set(before)
        and follow(program, waiting[i] + 1, position, before, after, next_waiting, seen) then return true end
    end
    if follow(program, 1, position, before, after, next_waiting, seen) then return true end
    if after == nil then return false end
    waiting, before = next_waiting, after
  end
end

local kept, count = {}, 0

--- The program of a regular expression: {fits = function(text) → whether some part of the text matches, size = number
-- of its steps}; nil and why not, where it is none or has what is not supported.
function pattern.compile(text)
  local program = kept[text]
  if program then return program end
  if not utf8.len(text) then return nil, "no UTF-8" end
  local ok, made = pcall(compiled, text)
  if not ok then
    if getmetatable(made) == Unsupported then return nil, made.why end
    error(made, 0)
  end
  if count == KEPT_MAX then kept, count = {}, 0 end
  program = { size = #made, fits = function(value) return utf8.len(value) ~= nil and fits(made, value) end }
  kept[text], count = program, count + 1
  return program
end

return pattern
