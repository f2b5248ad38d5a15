--- Finds code in an answer: what stands between fences of Markdown.

-- The fence at the beginning of a line (three or more backticks or tildes, blanks before): blanks, fence and what
-- stands behind it; nil for another line. A line of backticks with more of them behind is code within a line.
local function fence_of(line)
  local blanks, fence, rest = line:match "^( *)(```+)([^`]*)$"
  if fence then return blanks, fence, rest end
  return line:match "^( *)(~~~+)(.*)$"
end

--- The text of the first block of code, with its line ends; blanks before the fence are taken from each line too. nil
-- for a text without one, and "cut" too where the text ends in it.
return function(text)
  local indent, open
  local lines = {}
  for line in (text .. "\n"):gmatch "(.-)\r?\n" do
    local blanks, fence, rest = fence_of(line)
    if open then
      local closes = fence and fence:sub(1, 1) == open:sub(1, 1) and #fence >= #open and not rest:find "%S"
      if closes then return table.concat(lines) end
      lines[#lines + 1] = line:gsub("^" .. (" ?"):rep(#indent), "") .. "\n"
    elseif fence then
      indent, open = blanks, fence
    end
  end
  return nil, open and "cut" or nil
end
