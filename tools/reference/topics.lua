-- topics.lua: pages of the guide as LDoc takes them. Links lead to the pages that LDoc makes, headings get the names
-- that links have for them, code that readers do not see is left out, and the first mention of a function leads to the
-- reference.

local resolve = dofile "tools/source.lua".resolve

local topics = {}

-- The name by which a heading can be linked.
local function anchor_of(heading) return (heading:lower():gsub("[^%w %-_]", ""):gsub(" ", "-")) end

-- Where a link leads, from a topic's page.
local function target(folder, link, files)
  local path, anchor = link:match "^([^#]*)(#?.*)$"
  if link:find "^%a+:" or path == "" then return link end
  local whole = resolve(folder, path)
  local page = whole:match "^docs/([%w_-]+)%.md$" or whole:match "^docs/adr/([%w_-]+)%.md$"
    or whole:match "^([%w_-]+)%.md$"
  if page then return page .. ".md.html" .. anchor end
  local example = whole:match "^examples/([%w_]+%.lua)$"
  if example then return "../examples/" .. example .. ".html" end
  if whole == "docs/adr" or whole == "examples" then return "../index.html#" .. whole:match "[^/]+$" end
  files[whole] = true
  return "../files/" .. whole
end

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }

-- A line of a block that is not Lua, as HTML: LDoc colours every block as Lua, also what is indented.
local function plain(line)
  return (line:gsub("[&<>]", ENTITIES):gsub("^ +", function(spaces) return ("&#32;"):rep(#spaces) end))
end

--- The text of a page at `path` for LDoc. `names` has the place of each public name in the reference; `files` is a set
-- that gets the paths of other files that it links to.
function topics.make(path, names, files)
  local folder, out, fence, hidden, seen = path:match "^(.*/)" or "", {}, nil, false, {}
  for line in io.lines(path) do
    if hidden then
      hidden = not line:find "%-%->"
    elseif not fence and line:find "^<!%-%-" then
      hidden = not line:find "%-%->"
    elseif line:find "^```" then
      local opens = not fence
      local is_lua = (fence or line):find "^```lua"
      fence = opens and line or nil
      out[#out + 1] = is_lua and line or opens and "<pre>" or "</pre>"
    elseif fence then
      out[#out + 1] = fence:find "^```lua" and line or plain(line)
    else
      local level, heading = line:match "^(##+) (.*)$"
      local text = line:gsub("%]%(([^)%s]+)%)", function(link) return "](" .. target(folder, link, files) .. ")" end)
      if level then text = ('%s <a id="%s"></a>%s'):format(level, anchor_of(heading), text:match "^##+ (.*)$")
      elseif not text:find "^[#|]" then
        text = text:gsub("()`(koine[%w_.]*)`", function(first, name)
          if seen[name] or not names[name] or text:sub(1, first - 1):find "%[[^%]]*$" then return nil end
          seen[name] = true
          return ("[`%s`](../modules/%s)"):format(name, names[name])
        end)
      end
      out[#out + 1] = text
    end
  end
  return table.concat(out, "\n") .. "\n"
end

return topics
