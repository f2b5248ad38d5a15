--- How a call of an executor's tool is shown to a person: its kind, a title, the files that it is about, and what it
-- will change in one. Arguments are the model's own, which fit the tool.

local cut = require("koine.data.text").cut
local text = require "koine.system.executor.text"

local shown = {}

local TITLE_MAX = 100    -- bytes
local DIFF_MAX = 1 << 20 -- bytes of a file that is shown with its changes; of a larger one only what is replaced

local KINDS = { bash = "execute", read_file = "read", list_dir = "read", glob = "search", grep = "search",
  write_file = "edit", edit_file = "edit", text_editor = "edit", str_replace_based_edit_tool = "edit" }

-- The first line of a text, cut.
local function line_of(words)
  local line = words:match "^%s*([^\n]*)"
  local kept = cut(text.repair(line), TITLE_MAX)
  return #kept < #words:gsub("%s+$", "") and kept .. " …" or kept
end

local function about_path(verb)
  return function(args) return verb .. " " .. line_of(args.path or ".") end
end

local VERBS = { view = "Read", create = "Write", str_replace = "Edit", insert = "Edit" }

local function editor(args) return VERBS[args.command] .. " " .. line_of(args.path) end

local TITLES = { bash = function(args) return args.command and line_of(args.command) or "Restart the shell" end,
  read_file = about_path "Read", list_dir = about_path "List", write_file = about_path "Write",
  edit_file = about_path "Edit", text_editor = editor, str_replace_based_edit_tool = editor,
  glob = function(args) return "Find " .. line_of(args.pattern) end,
  grep = function(args) return "Search for " .. line_of(args.pattern) end }

local LINES = { read_file = "offset", text_editor = "insert_line" }

local function locations(name, args)
  if not args.path then return {} end
  local line = args[LINES[name]] or args.view_range and args.view_range[1]
  line = type(line) == "number" and math.tointeger(line) or nil
  return { { path = args.path, line = line and line > 0 and line or nil } }
end

-- The text of a file that is small enough to be shown: it; nil for a file that is not there; false for any other.
local function text_of(files, path)
  local bytes, err = files:read(path, DIFF_MAX)
  if not bytes then return err.code ~= "absent" and false or nil end
  return not text.is_binary(bytes) and utf8.len(bytes) and bytes or false
end

local function write(files, args, new)
  local old = text_of(files, args.path)
  if old == false then return nil end
  return { path = args.path, old = old, new = new }
end

-- The whole file before and after; only what is replaced where that cannot be known.
local function replace(files, args)
  local bytes, part = files and text_of(files, args.path), { path = args.path, old = args.old_str,
    new = args.new_str or "" }
  if not bytes then return part end
  local old, new = text.like(bytes, part.old), text.like(bytes, part.new)
  local n, first = 0, nil
  if old ~= "" then n, first = text.count(bytes, old) end
  if n ~= 1 then return part end
  return { path = args.path, old = bytes, new = bytes:sub(1, first - 1) .. new .. bytes:sub(first + #old) }
end

local function diff_of(files, name, args)
  if name == "write_file" then return files and write(files, args, args.content) end
  if name == "edit_file" then return replace(files, args) end
  if args.command == "create" and args.file_text then return files and write(files, args, args.file_text) end
  if args.command == "str_replace" and args.old_str then return replace(files, args) end
end

--- The fields kind, title, locations and diff of the tool of that name, as koine.tool takes them. `machine` is the
-- executor's, which has no files where it is a remote one.
function shown.fields(name, machine)
  local fields = { kind = KINDS[name], title = TITLES[name] }
  if name ~= "bash" then
    fields.locations = function(args) return locations(name, args) end
  end
  if KINDS[name] == "edit" then
    fields.diff = function(args)
      if machine.denied and machine.denied(name, args) then return nil end
      return diff_of(machine.files, name, args)
    end
  end
  return fields
end

return shown
