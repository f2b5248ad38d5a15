-- build.lua: `make docs`: the reference, made of the types for editors (types/koine), and the guide, which are the
-- pages of docs/, as HTML in BUILD/docs, by LDoc. What LDoc reads is written to BUILD/reference.
-- Usage: lua5.4 tools/reference/build.lua BUILD

local find = dofile "tools/source.lua".find
local contents = dofile "tools/reference/contents.lua"
local modules = dofile "tools/reference/modules.lua"
local topics = dofile "tools/reference/topics.lua"

local build = arg[1]
local work, out = build .. "/reference", build .. "/docs"

local function run(...)
  local command = string.format(...)
  if not os.execute(command) then error("failed: " .. command, 0) end
end

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(text))
end

run("rm -rf %s %s && mkdir -p %s/modules %s/topics", work, out, work, work)

-- The reference and the guide -----------------------------------------------------------------------------------------

local sources, files = {}, {} -- pages by name; other files that they link to
for _, path in ipairs(find "*.md docs -name '*.md'") do sources[path:match "([^/]+)%.md$"] = path end

local function title_of(name) return read(sources[name]):match "^# ([^\n]*)" or name end

-- "The guide: A, B." with links, for the head of a page of the reference.
local function guide_of(page)
  local links = {}
  for i, name in ipairs(contents.about[page] or {}) do
    links[i] = ('<a href="../topics/%s.md.html">%s</a>'):format(name, title_of(name))
  end
  return links[1] and "In the guide: " .. table.concat(links, ", ") .. "." or ""
end

local pages, titles, names = modules.make(contents, guide_of)
for page, text in pairs(pages) do write(("%s/modules/%s.lua"):format(work, page), text) end
for name, path in pairs(sources) do write(("%s/topics/%s.md"):format(work, name), topics.make(path, names, files)) end

-- Navigation ----------------------------------------------------------------------------------------------------------

-- The groups of the guide: {title, name, …}, with the pages that no group names in the last ones.
local function guide()
  local groups, placed = {}, {}
  for i, group in ipairs(contents.guide) do
    groups[i] = { group[1] }
    for n = 2, #group do
      placed[group[n]] = true
      if sources[group[n]] then table.insert(groups[i], group[n]) end
    end
  end
  local more, decisions = { "More" }, { "Decisions" }
  for name, path in pairs(sources) do
    if not placed[name] then table.insert(path:find "^docs/adr/" and decisions or more, name) end
  end
  for _, group in ipairs { more, decisions } do
    table.sort(group, function(a, b) return a ~= b and (a == group[1] or b ~= group[1] and a < b) end)
    if group[2] then groups[#groups + 1] = group end
  end
  return groups
end

local function link(kind, file, title)
  title = title:gsub("`([^`]*)`", "<code>%1</code>")
  return ('<li><a href="$(base)%s/%s.html">%s</a></li>'):format(kind, file, title)
end

local navigation = { "<h2>Guide</h2>" }
for _, group in ipairs(guide()) do
  local lines = {}
  for i = 2, #group do lines[#lines + 1] = link("topics", group[i] .. ".md", title_of(group[i])) end
  table.insert(navigation, ('<details id="nav-%s"%s><summary>%s</summary><ul>%s</ul></details>'):format(
    group[1]:lower():gsub(" ", "-"), group[1] == "Decisions" and "" or " open", group[1], table.concat(lines)))
end
navigation[#navigation + 1] = "<h2>Reference</h2>"
for _, group in ipairs(contents.reference) do
  local lines = {}
  for i = 3, #group do lines[#lines + 1] = link("modules", group[i], titles[group[i]]:match "^[^:]*") end
  table.insert(navigation, ("<details open><summary>%s</summary><ul>%s</ul></details>"):format(group[1],
    table.concat(lines)))
end

-- All public names, for the first page.
local function index()
  local list, rows = {}, {}
  for name in pairs(names) do list[#list + 1] = name end
  table.sort(list)
  for i, name in ipairs(list) do
    local breakable = name:gsub("%.", ".<wbr>")
    rows[i] = ('<li><a href="modules/%s"><code>%s</code></a></li>'):format(names[name], breakable)
  end
  return table.concat(rows)
end

local version = dofile "lua/koine/data/version.lua"
local template = read("tools/reference/ldoc.ltp"):gsub("{{(%u+)}}", { NAVIGATION = table.concat(navigation, "\n"),
  INDEX = index(), VERSION = version })
write(work .. "/ldoc.ltp", template)
run("cp tools/reference/ldoc.css %s", work)

-- LDoc ----------------------------------------------------------------------------------------------------------------

local list = {}
for name in pairs(sources) do list[#list + 1] = ("%q"):format(("topics/%s.md"):format(name)) end
table.sort(list)
local examples = {}
for i, path in ipairs(find "examples -maxdepth 1 -name '*.lua'") do examples[i] = ("%q"):format(path) end

write(work .. "/config.ld", ([[
project = "Koine"
title = "Koine"
file = { "modules" }
topics = { %s }
examples = { %s }
format = "discount"
use_markdown_titles = true
backtick_references = false
no_lua_ref = true
no_space_before_args = true
not_luadoc = true
sort_modules = true
style = true
template = true
]]):format(table.concat(list, ", "), table.concat(examples, ", ")))
run("ln -s ../../examples %s/examples", work)
-- Debian's LDoc is for Lua 5.2, and so is the library that makes its tables.
local ldoc = "lua5.2 $(command -v ldoc) --quiet --fatalwarnings --dir ../docs ."
run("cd %s && %s >log 2>&1 || { cat log; exit 1; }", work, ldoc)
for path in pairs(files) do -- links.lua tells of those that are not there
  local to = ("%s/files/%s"):format(out, path)
  run("mkdir -p $(dirname '%s'); if [ -e '%s' ]; then cp -R '%s' '%s'; fi", to, path, path, to)
end

run("%s tools/reference/links.lua %s", arg[-1] or "lua5.4", out)
