-- generate.lua: writes what repeats the providers' rows and the tree: the list of rows, the tables of providers on the
-- pages, the paths that the loopback provider serves, the rockspec's lists. A list stands between the lines "generated:
-- NAME" and "end of NAME"; provider/names.lua and types/koine/providers.lua are written as a whole. With `--check`
-- nothing is written: prints each file that differs and exits 1. Run from the project's root: `make generate`, and
-- `make lint`, which checks.

package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path

local find = dofile "tools/source.lua".find
local provider_types = dofile "tools/provider_types.lua"

local LUA, TEXT = 120, 130 -- widths of a generated line

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

-- Rows --------------------------------------------------------------------------------------------------------------

local names, rows = {}, {}
for i, path in ipairs(find "lua/koine/provider/rows -name '*.lua'") do
  local name = path:match "([^/]+)%.lua$"
  local row = require("koine.provider.rows." .. name)
  if row.name ~= name then error(("%s: its name is %q"):format(path, tostring(row.name)), 0) end
  names[i], rows[i] = name, row
end

-- As the pages list them: by rank, those without a variable for their key last, then other people's servers before
-- those of this machine, then by name.
local function place(row)
  return ("%03d %d %d %s"):format(row.rank or 999, row.env and 0 or 1, row.key_optional and 1 or 0, row.name)
end
table.sort(rows, function(a, b) return place(a) < place(b) end)

-- A wire format as people say it: its codec's name, but for two.
local function title_of(codec)
  if codec == "anthropic" then return "Messages" end
  if codec == "bedrock" then return "Converse" end
  return (codec:gsub("^%l", string.upper):gsub("_", " "))
end

local PLACES = { chat = 1, responses = 2, anthropic = 3 } -- of what `api` may be, as it is listed; others stand behind

local function quoted(word) return ('`"%s"`'):format(word) end
local function constructor(row) return "`koine." .. row.name .. "`" end

-- What a row's constructor takes as `api`, the default first: an array, empty where there is no choice.
local function apis_of(row)
  local list = {}
  for api in pairs(row.apis or {}) do list[#list + 1] = api end
  local function rank(api) return ("%d %s"):format(api == row.api and 0 or PLACES[api] or 9, api) end
  table.sort(list, function(a, b) return rank(a) < rank(b) end)
  return list
end

local cells = {}

function cells.speaks(row)
  local apis, wire = apis_of(row), title_of(row.codec or row.apis[row.api].codec)
  if not apis[2] then return wire end
  local others = ('%s; `api = "%s"`'):format(wire, apis[2])
  for i = 3, #apis do others = others .. " or " .. quoted(apis[i]) end
  return others
end

function cells.base_url(row)
  if row.base_urls then return ("none: give `%s`"):format(row.base_urls[1]) end
  if not row.base_url then return "none: give it" end
  return (row.login and "what the login names, else " or "") .. "`" .. row.base_url .. "`"
end

-- A row with a login has a page of its name.
function cells.key(row)
  if row.login then return ("a login: [%s](%s.md)"):format(row.title, row.name) end
  local variables = row.env and "`" .. table.concat(row.env, "` or `") .. "`" or "only the option `key`"
  return variables .. (row.key_optional and ", not needed" or "")
end

function cells.recorded(row) return row.seen and row.seen[1] or "none" end
function cells.documented(row) return row.seen and row.seen[2] or "everything" end
function cells.checked(row) return row.source == "recordings" and "recordings" or "from documentation" end

-- The cell of a column: what the row says itself, or what follows from its other fields.
local function cell(row, column) return row.says and row.says[column] or cells[column](row) end

local function line_of(...) return "| " .. table.concat({ ... }, " | ") .. " |\n" end

local HEADINGS = { speaks = "speaks", base_url = "`base_url` by default", key = "key from",
  checked = "checked against", recorded = "recorded answers", documented = "from documentation alone" }

-- A table of all rows with these columns.
local function rows_table(...)
  local columns = { ... }
  local headings, rule = {}, ("|---"):rep(#columns + 1) .. "|\n"
  for i, column in ipairs(columns) do headings[i] = HEADINGS[column] end
  local lines = { line_of("constructor", table.unpack(headings)), rule }
  for _, row in ipairs(rows) do
    local found = {}
    for i, column in ipairs(columns) do found[i] = cell(row, column) end
    lines[#lines + 1] = line_of(constructor(row), table.unpack(found))
  end
  return table.concat(lines)
end

-- A table of the rows with a default model.
local function default_models()
  local lines = {}
  for _, row in ipairs(rows) do
    if row.default_model then lines[#lines + 1] = line_of(constructor(row), "`" .. row.default_model .. "`") end
  end
  return line_of("constructor", "`model` by default") .. "|---|---|\n" .. table.concat(lines)
end

-- A table of the choices of `api`, with the constructors that have the same in one row.
local function apis_table()
  local lines, of = {}, {}
  for _, row in ipairs(rows) do
    local apis = apis_of(row)
    for i, api in ipairs(apis) do apis[i] = quoted(api) end
    local choice = apis[1] and ("%s | %s"):format(table.concat(apis, ", "), apis[1])
    if choice and not of[choice] then
      of[choice] = {}
      lines[#lines + 1] = choice
    end
    if choice then table.insert(of[choice], constructor(row)) end
  end
  for i, choice in ipairs(lines) do lines[i] = line_of(table.concat(of[choice], ", "), choice) end
  return line_of("constructor", "`api`", "default") .. "|---|---|---|\n" .. table.concat(lines)
end

-- What a provider's answer can be held to, by the quirk.
local STRUCTURED = { schema = "JSON Schema", object = "any JSON object", none = "—" }

-- What the quirks of a row, or of one of its apis, say about structured output; with the models that differ.
local function structured_cells(quirks, models)
  local q = quirks or {}
  local held, differs = q.structured or "none", nil
  for _, model in ipairs(models or {}) do
    local own = model.quirks and model.quirks.structured
    differs = differs or own and own ~= held
  end
  local none = held == "none" and not differs
  return STRUCTURED[held] .. (differs and ", by model" or ""),
    none and "" or q.structured_tools and "yes" or "no", q.structured_strict and "yes" or "",
    held == "schema" and "`" .. (q.schema_dialect or "plain") .. "`" or ""
end

-- A table of what the rows know about structured output; of apis that differ, a line each.
local function structured_table()
  local lines = {}
  for _, row in ipairs(rows) do
    local seen, apis = {}, row.apis or { [""] = {} }
    local keys = row.apis and apis_of(row) or row.chat ~= false and { "" } or {}
    for _, name in ipairs(keys) do
      local api = apis[name]
      local line = line_of(structured_cells(api.quirks or row.quirks, api.models or row.models))
      local before = seen[#seen]
      if before and before.line == line then before.names = before.names .. ", `" .. name .. "`"
      else seen[#seen + 1] = { line = line, names = "`" .. name .. "`" } end
    end
    for _, one in ipairs(seen) do
      lines[#lines + 1] = "| " .. constructor(row) .. (seen[2] and " " .. one.names or "") .. " " .. one.line
    end
  end
  return line_of("constructor", "structured output", "with tools", "strict", "dialect") .. "|---|---|---|---|---|\n"
    .. table.concat(lines)
end

-- Items in lines of at most `width` characters.
local function filled(items, indent, width)
  local lines = { indent .. items[1] }
  for i = 2, #items do
    if #lines[#lines] + #items[i] + 2 < width then
      lines[#lines] = lines[#lines] .. ", " .. items[i]
    else
      lines[#lines] = lines[#lines] .. ","
      lines[#lines + 1] = indent .. items[i]
    end
  end
  return table.concat(lines, "\n")
end

-- The constructors in lines of text.
local function rows_text()
  local items = {}
  for i, row in ipairs(rows) do items[i] = constructor(row) end
  return filled(items, "", TEXT) .. ".\n"
end

local function names_file()
  local items = {}
  for i, name in ipairs(names) do items[i] = ("%q"):format(name) end
  return "-- The names of all rows, sorted. `make generate` writes this file.\nreturn {\n" .. filled(items, "  ", LUA)
    .. ",\n}\n"
end

-- The wire that the loopback provider plays for a row, or for one of its apis: the codec's, but where Vertex AI has it.
local function wire_of(api)
  return api.quirks and api.quirks.route == "raw_predict" and api.codec .. "_vertex" or api.codec
end

-- The paths of the rows' base URLs by wire, for the loopback provider, with NAME for {NAME} of any name. Messages is
-- spoken at /v1 of a base URL, which may end in it already.
local function prefixes()
  local found = {}
  local function add(wire, url)
    local prefix = url:match "^https?://[^/]+(.*)$":gsub("{%w+}", "NAME")
    if wire == "anthropic" then prefix = prefix:gsub("/v1$", "") .. "/v1" end
    found[wire] = found[wire] or {}
    if not found[wire][prefix] then table.insert(found[wire], prefix) end
    found[wire][prefix] = true
  end
  for _, row in ipairs(rows) do
    for _, api in pairs(row.apis or { row }) do
      local urls = api.base_urls or row.base_urls or { api.base_url or row.base_url }
      for _, url in ipairs(urls) do add(wire_of(api), url) end
      if row.express_base_url then add(wire_of(api), row.express_base_url) end
    end
  end
  local wires, lines = {}, {}
  for wire in pairs(found) do wires[#wires + 1] = wire end
  table.sort(wires)
  for i, wire in ipairs(wires) do
    table.sort(found[wire], function(a, b) return #a == #b and a < b or #a < #b end)
    for n, prefix in ipairs(found[wire]) do found[wire][n] = ("%q"):format(prefix) end
    lines[i] = ("  %s = { %s },\n"):format(wire, filled(found[wire], "    ", LUA - #wire - 5):sub(5))
  end
  return table.concat(lines)
end

-- The rockspec ------------------------------------------------------------------------------------------------------

local function sources()
  local lines = {}
  for i, path in ipairs(find "src/core src/binding -name '*.c'") do lines[i] = ("        %q,\n"):format(path) end
  return table.concat(lines)
end

local function modules()
  local lines = {}
  for i, path in ipairs(find "lua/koine -name '*.lua'") do
    local name = path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
    lines[i] = ("    [%q] = %q,\n"):format(name, path)
  end
  table.sort(lines)
  return table.concat(lines)
end

-- Files -------------------------------------------------------------------------------------------------------------

local NAMES = "lua/koine/provider/names.lua"
local TYPES = "types/koine/providers.lua"

-- The file → what stands between its lines.
local LISTS = {
  ["docs/adapter.md"] = { constructors = rows_table("base_url", "key"), apis = apis_table(),
    default_models = default_models() },
  ["docs/providers.md"] = { providers = rows_table("speaks", "key", "checked"),
    seen = rows_table("recorded", "documented"), structured = structured_table() },
  ["llms.txt"] = { providers = rows_text() },
  ["lua/koine/testing/loopback/paths.lua"] = { prefixes = prefixes() },
  ["rockspec/koine-scm-1.rockspec"] = { sources = sources(), modules = modules() },
}

-- The text with the list between its lines.
local function with_list(path, text, name, list)
  local _, first = text:find("\n[^\n]*generated: " .. name .. "[^\n]*\n")
  local last = text:find("[^\n]*end of " .. name .. "[^\n]*\n", first)
  if not first or not last then error(("%s: there are no lines around %s"):format(path, name), 0) end
  return text:sub(1, first) .. list .. text:sub(last)
end

local check, wrong = arg[1] == "--check", 0

local function put(path, text)
  local there = io.open(path)
  local old = there and there:read "a"
  if there then there:close() end
  if old == text then return end
  wrong = wrong + 1
  print(path .. (check and ": differs from what make generate writes" or ""))
  if check then return end
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(text))
end

put(NAMES, names_file())
put(TYPES, provider_types(rows))
for path, lists in pairs(LISTS) do
  local text = read(path)
  for name, list in pairs(lists) do text = with_list(path, text, name, list) end
  put(path, text)
end
if check and wrong > 0 then os.exit(false) end
if wrong == 0 then print "generated: as the rows and the tree say" end
