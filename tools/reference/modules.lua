-- modules.lua: the editor types (tools/types.lua) as comments that LDoc reads, a file for each page of the reference.
-- Types become HTML with links, because LDoc's own form of a type has neither functions nor unions in brackets.

local types = dofile "tools/types.lua"

local modules = {}

local places = {} -- name of a class or an alias → "PAGE.html#ANCHOR"

local function short(name) return (name:gsub("^koine%.", "")) end

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&#34;", ["*"] = "&#42;", ["_"] = "&#95;",
  ["["] = "&#91;", ["]"] = "&#93;", ["|"] = "&#124;", ["`"] = "&#96;" }

local function escape(text) return (text:gsub('[&<>"*_|`%[%]]', ENTITIES)) end

-- A text with its `code` as HTML.
local function text_html(text)
  return (text:gsub("`([^`]*)`", function(code) return "<code>" .. escape(code) .. "</code>" end))
end

-- A type as HTML: names of classes without `koine.` and with links.
local function type_html(text)
  local parts, at = {}, 1
  for first, name, last in text:gmatch "()%f[%w_](koine%.%u[%w_]*)()" do
    parts[#parts + 1] = escape(text:sub(at, first - 1))
    parts[#parts + 1] = ('<a href="%s">%s</a>'):format(places[name] or error("no place for " .. name, 0), short(name))
    at = last
  end
  parts[#parts + 1] = escape(text:sub(at))
  return '<code class="type">' .. table.concat(parts) .. "</code>"
end

-- The type of what may be missing or nil.
local function optional_type(text)
  if text:find "%?$" and not text:find "fun%(" then return text end
  return (text:find "|" or text:find "fun%(") and "(" .. text .. ")?" or text .. "?"
end

-- Text as LDoc takes it: no line that looks like a tag.
local function comment(lines)
  local text = table.concat(lines, "\n")
  return "--- " .. text:gsub("\n", "\n-- ") .. "\n\n"
end

-- "a: T, b?: U" at its commas outside of brackets.
local function split(list)
  local parts, depth, from = {}, 0, 1
  for at = 1, #list + 1 do
    local c = list:sub(at, at)
    if c:find "[%({%[<]" then depth = depth + 1 elseif c:find "[%)}%]>]" then depth = depth - 1 end
    if (c == "," and depth == 0 or at > #list) and list:sub(from, at - 1):find "%S" then
      parts[#parts + 1], from = list:sub(from, at - 1):match "^%s*(.-)%s*$", at + 1
    end
  end
  return parts
end

-- The arguments and results of a function type, as those of a function.
local function read_fun(text)
  local list, tail = text:match "^fun(%b())(.*)$"
  local params, returns = {}, {}
  for i, one in ipairs(split(list:sub(2, -2))) do
    local name, type = one:match "^([%w_.]+%??):%s*(.*)$"
    params[i] = { name = name:gsub("%?", ""), optional = name:find "%?" ~= nil, type = type, text = "" }
  end
  for i, one in ipairs(split((tail:gsub("^:%s*", "")))) do returns[i] = { type = one, name = "", text = "" } end
  return params, returns
end

local function joined(...)
  local parts = {}
  for _, text in ipairs { ... } do
    if text ~= "" then parts[#parts + 1] = text end
  end
  return table.concat(parts, " ")
end

-- A result: its name, unless it tells nothing, its type, and what is said of it.
local function result_html(one, type)
  local tells = one.name ~= "" and one.name ~= "ok" and one.name ~= "err" and one.name ~= "..."
  local name = tells and ('<span class="parameter">%s</span>'):format(escape(one.name)) or ""
  return joined(name, type_html(type or one.type), one.text)
end

-- Whether the results are a value or nil and an error, as most are.
local function may_fail(returns)
  local second = returns[2]
  return second and second.type == "koine.Error" and (returns[1].type:find "%?$" or returns[1].type == "nil")
end

local function add_returns(lines, returns)
  if not may_fail(returns) then
    for _, one in ipairs(returns) do
      lines[#lines + 1] = "@return " .. result_html(one)
    end
    return
  end
  local first = returns[1]
  if first.type ~= "nil" then
    lines[#lines + 1] = "@return[1] " .. result_html(first, (first.type:gsub("%?$", "")))
  end
  lines[#lines + 1] = "@return[2] " .. type_html "nil"
  for i = 2, #returns do
    lines[#lines + 1] = "@return[2] " .. result_html(returns[i])
  end
end

local function function_text(name, text, params, returns, overloads)
  local lines = { text ~= "" and text or "&nbsp;" }
  for _, overload in ipairs(overloads or {}) do lines[#lines + 1] = "\nAlso " .. type_html(overload) .. "." end
  lines[#lines + 1] = "@function " .. name
  for _, param in ipairs(params) do
    lines[#lines + 1] = ("@param%s %s %s"):format(param.optional and "[opt]" or "", param.name,
      joined(type_html(param.optional and optional_type(param.type) or param.type), param.text))
  end
  add_returns(lines, returns)
  return comment(lines)
end

-- The fields as a list in HTML.
local function list_html(class)
  local rows = {}
  for _, field in ipairs(class.fields) do
    local type = field.optional and optional_type(field.type) or field.type
    rows[#rows + 1] = ('<li><span class="parameter">%s</span> %s %s</li>'):format(escape(field.name), type_html(type),
      text_html(field.text))
  end
  return rows[1] and '<ul class="fields">' .. table.concat(rows) .. "</ul>" or ""
end

-- "With all fields of A." of a class with parents.
local function parents_text(class)
  local parents = {}
  for i, name in ipairs(class.parents) do parents[i] = type_html(name) end
  return parents[1] and "It has everything of " .. table.concat(parents, " and ") .. ", too." or ""
end

local function table_text(item)
  local class = item.class
  local text = joined(class.text, parents_text(class))
  return comment { text ~= "" and text or "&nbsp;", "", list_html(class), "@table " .. short(class.name) }
end

local function alias_text(item)
  local rows = {}
  for i, member in ipairs(item.alias.members) do
    rows[i] = ("<li>%s %s</li>"):format(type_html(member.type), text_html(member.text))
  end
  return comment { item.alias.text ~= "" and item.alias.text or "One of these:", "",
    '<ul class="fields">' .. table.concat(rows) .. "</ul>", "@table " .. short(item.alias.name) }
end

local function is_object(name) return name:find "^koine%.%u" ~= nil end

-- The items of a file: the module's own functions, koine's tables, objects with their methods, the other types.
local function page_text(name, file, about)
  local parts = { comment { file.title, "", about, "@module " .. name } }
  local functions, sections, objects, tables = {}, {}, {}, {}
  for _, item in ipairs(file.items) do
    if item.kind == "function" then
      functions[item.holder] = functions[item.holder] or {}
      table.insert(functions[item.holder], item)
    end
  end
  for _, item in ipairs(file.items) do
    local class = item.kind == "class" and item.class
    if item.kind == "alias" then tables[#tables + 1] = alias_text(item)
    elseif class and not is_object(class.name) then sections[#sections + 1] = class
    elseif class and functions[class.name] then objects[#objects + 1] = class
    elseif class then tables[#tables + 1] = table_text(item) end
  end
  local function add_functions(holder, prefix)
    for _, item in ipairs(functions[holder] or {}) do
      parts[#parts + 1] = function_text(prefix .. item.name, item.text, item.params, item.returns,
        item.overloads)
    end
    functions[holder] = nil
  end
  if sections[1] == nil or sections[1].name ~= "koine" then add_functions("koine", "koine.") end
  for _, class in ipairs(sections) do
    -- What a module that is called is for stands at the function.
    local text = class.overloads[1] and "" or joined(class.text, parents_text(class))
    parts[#parts + 1] = comment { class.name .. ".", text, "", list_html(class),
      "@section " .. class.name:gsub("%.", "_") }
    for _, overload in ipairs(class.overloads) do
      parts[#parts + 1] = function_text(class.name, class.text, read_fun(overload))
    end
    add_functions(class.name, class.name .. ".")
  end
  for _, class in ipairs(objects) do
    parts[#parts + 1] = comment { ('%s <a id="%s"></a>'):format(class.text ~= "" and class.text or "&nbsp;",
      short(class.name)), parents_text(class), "", list_html(class), "@type " .. short(class.name) }
    for _, item in ipairs(functions[class.name]) do
      parts[#parts + 1] = function_text(item.name, item.text, item.params, item.returns)
    end
    functions[class.name] = nil
  end
  if tables[1] then
    parts[#parts + 1] = comment { "Types.", "Options, records, and the arguments of your functions.", "@section given" }
    parts[#parts + 1] = table.concat(tables)
  end
  local left = next(functions)
  if left then error(("%s: %s has functions and no class"):format(file.path, left), 0) end
  return table.concat(parts)
end

--- Makes the pages of the reference: page → text for LDoc; and the title of each; and every public name → its place,
-- "PAGE.html#ANCHOR". `contents` is contents.lua, about(page) a text for the head of a page.
function modules.make(contents, about)
  local files = types.all()
  local by_path, pages, titles, names = {}, {}, {}, {}
  for _, file in ipairs(files) do by_path[file.path:match "^types/koine/(.*)%.lua$"] = file end
  local page_of = {}
  for _, group in ipairs(contents.reference) do
    for page, path in pairs(group[2]) do page_of[path] = page end
  end
  for path, file in pairs(by_path) do
    local page = page_of[path] or error(("tools/reference/contents.lua: where is types/koine/%s.lua?"):format(path), 0)
    titles[page] = file.title
    for _, item in ipairs(file.items) do
      local name = item.kind == "function" and item.holder .. "." .. item.name or item[item.kind].name
      local anchor = item.kind == "function" and not is_object(item.holder) and name or short(name)
      if item.kind ~= "function" then places[name] = ("%s.html#%s"):format(page, anchor) end
      local is_called = item.kind == "class" and item.class.overloads[1] and not is_object(name)
      if is_called or item.kind == "function" and not is_object(item.holder) then
        names[name] = ("%s.html#%s"):format(page, name)
      end
    end
  end
  for path, file in pairs(by_path) do pages[page_of[path]] = page_text(page_of[path], file, about(page_of[path])) end
  return pages, titles, names
end

return modules
