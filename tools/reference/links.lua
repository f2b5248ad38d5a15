-- links.lua: every link of the pages below a folder leads to a file that is there, and to a name that it has. Links to
-- other hosts are not followed. Prints what is wrong and exits 1.
-- Usage: lua5.4 tools/reference/links.lua FOLDER

local source = dofile "tools/source.lua"

local root = arg[1]
local problems, count, anchors = {}, 0, {}

local function read(path)
  local file = io.open(path)
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text or ""
end

-- The names in a page that links can lead to; nil where there is no such file.
local function anchors_of(path)
  if anchors[path] == nil then
    local text, known = read(path), {}
    for _, attribute in ipairs { "id", "name" } do
      for name in (text or ""):gmatch("%s" .. attribute .. '%s*=%s*"([^"]*)"') do known[name] = true end
    end
    anchors[path] = text and known or false
  end
  return anchors[path] or nil
end

for _, path in ipairs(source.find(root .. " -name '*.html'")) do
  -- What a script holds is no link.
  local text, folder = read(path):gsub("<script>.-</script>", ""), path:match "^(.*/)"
  for attribute, link in text:gmatch '%s(%l+)="([^"]*)"' do
    if (attribute == "href" or attribute == "src") and not link:find "^%a[%w+.-]*:" then
      count = count + 1
      local to, anchor = link:match "^([^#?]*)[^#]*#?(.*)$"
      local target = to == "" and path or source.resolve(folder, to)
      local known = anchors_of(target)
      if not known then problems[#problems + 1] = ("%s: there is no %s"):format(path, link)
      elseif anchor ~= "" and target:find "%.html$" and not known[anchor] then
        problems[#problems + 1] = ("%s: nothing is called that: %s"):format(path, link)
      end
    end
  end
end

for _, problem in ipairs(problems) do print(problem) end
if #problems > 0 then os.exit(false) end
assert(count > 0, "no link was looked at")
print(("docs: %d links, all of which lead somewhere"):format(count))
