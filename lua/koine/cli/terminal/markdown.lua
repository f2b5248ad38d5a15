--- Shows Markdown on a terminal as it arrives: headings and **strong** text bold, *emphasis* italic, code dim. No
-- character of the text is left out or moved; only styles are added. A line end ends all but a block of code, so a lone
-- star never marks more than its line.
--
-- A piece of an answer may end anywhere. What is held back is a run of the same mark (stars, backticks, tildes, #)
-- until the character behind it is there.

local markdown = {}

local methods = {}
local metatable = { __index = methods }

local FENCE = 3   -- marks that open a block of code
local HEADING = 6 -- marks of the lowest heading
local STRONG = 2  -- stars; one is emphasis, three are both

--- A renderer for one answer.
function markdown.new()
  return setmetatable({ held = "", before = "\n", at_start = true, style = "" }, metatable)
end

-- The escape sequence for the style that the state asks for; "" where it is set already.
local function styled(self)
  local codes = {}
  if self.strong or self.heading then codes[#codes + 1] = ";1" end
  if self.emphasis then codes[#codes + 1] = ";3" end
  if self.code or self.fence then codes[#codes + 1] = ";2" end
  local style = table.concat(codes)
  if style == self.style then return "" end
  self.style = style
  return "\27[0" .. style .. "m"
end

local function end_line(self)
  local fence = self.fence
  if fence and fence.closed then self.fence = nil end
  if fence then fence.opening = false end
  self.strong, self.emphasis, self.heading, self.code, self.at_start = nil, nil, nil, nil, true
end

-- A run of backticks in a line: opens code, or ends it where the run is as long: then returns what ends it behind it.
local function take_ticks(self, run)
  if not self.code then
    self.code = #run
  elseif self.code == #run then
    return function() self.code = nil end
  end
end

-- A run in a block of code: at the beginning of a line it may be the end of the block.
local function take_in_block(self, run, mark)
  local fence = self.fence
  if fence.opening and mark == "`" then -- "```code```" in one line is no block
    self.fence, self.code = nil, fence.length
    return take_ticks(self, run)
  end
  fence.closed = self.at_start and mark == fence.mark and #run >= fence.length
end

-- A run of stars, between the characters `before` and `after`: opens what is strong or emphasised, before a character
-- that is no blank; or ends it, behind one: then returns what ends it behind the run.
local function take_stars(self, run, before, after)
  local strong, emphasis = #run ~= 1, #run ~= STRONG
  if #run > STRONG + 1 then return end
  if not before:find "%s" and (self.strong or not strong) and (self.emphasis or not emphasis) then
    return function()
      if strong then self.strong = nil end
      if emphasis then self.emphasis = nil end
    end
  end
  if after:find "%s" then return end
  self.strong, self.emphasis = self.strong or strong, self.emphasis or emphasis
end

-- What a run of marks means, with the character behind it; a function where it ends something behind itself.
local function take_run(self, run, after)
  local mark = run:sub(1, 1)
  if self.fence then return take_in_block(self, run, mark) end
  if self.before == "\\" then return end
  if self.at_start and (mark == "`" or mark == "~") and #run >= FENCE then
    self.fence = { mark = mark, length = #run, opening = true }
  elseif mark == "`" then
    return take_ticks(self, run)
  elseif mark == "#" then
    self.heading = self.heading or self.at_start and #run <= HEADING and after:find "%s" ~= nil
  elseif mark == "*" and not self.code then
    return take_stars(self, run, self.before, after)
  end
end

-- Writes the run that is held, now that the character behind it is known.
local function release(self, after, parts)
  local run = self.held
  if run == "" then return end
  self.held = ""
  local ends = take_run(self, run, after)
  parts[#parts + 1] = styled(self) .. run
  if ends then ends() end
  self.at_start, self.before = false, run:sub(1, 1)
end

local function take(self, char, parts)
  if char:find "[`~*#]" then
    if self.held:sub(1, 1) ~= char then release(self, char, parts) end
    self.held = self.held .. char
    return
  end
  release(self, char, parts)
  if char == "\n" then
    end_line(self)
  elseif not char:find "%s" then
    self.at_start = false
    if self.fence then self.fence.closed = false end
  end
  parts[#parts + 1] = styled(self) .. char
  self.before = self.before == "\\" and char == "\\" and "" or char -- a backslash behind one is itself
end

--- The text (UTF-8) that follows, with styles.
function methods:feed(text)
  local parts = {}
  for char in text:gmatch(utf8.charpattern) do take(self, char, parts) end
  return table.concat(parts)
end

--- What was held back, and the end of all styles.
function methods:finish()
  local parts = {}
  release(self, "\n", parts)
  end_line(self)
  self.fence = nil
  return table.concat(parts) .. styled(self)
end

return markdown
