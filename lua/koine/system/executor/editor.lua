--- The tool text_editor, with the commands and fields of the text editor that models are trained on: view, create,
-- str_replace, insert.

local core = require "koine.core"
local files = require "koine.system.executor.files"
local text = require "koine.system.executor.text"

local commands = {}

local NUMBER = 7 -- bytes of a line's number in a view

-- The first and last line that view_range asks for, or nil and what was expected.
local function range_of(range, n)
  if not range then return 1, n end
  local first, last = math.tointeger(range[1]), math.tointeger(range[2])
  if last == -1 then last = n end
  if #range ~= 2 or not first or not last or first < 1 or last < first or last > n then
    return nil, ("two lines between 1 and %d, the second not before the first, or -1 for the last one"):format(n)
  end
  return first, last
end

function commands.view(machine, input)
  local kind, err = machine.files:stat(input.path)
  if not kind then return text.refused(err) end
  if kind == "directory" then
    local list, info = files.listing(machine, input.path)
    return list and text.capped(text.repair(list), machine.output_max), info
  end
  local bytes, fail = files.load(machine, input.path)
  if not bytes then return fail() end
  local n = text.count_lines(bytes)
  if n == 0 then return "(empty file)" end
  local first, last = range_of(input.view_range, n)
  if not first then return text.mistake("view_range: " .. last .. " expected") end
  local lines, is_whole, is_repaired = text.excerpt(bytes, first, last - first + 1, machine.output_max, NUMBER)
  for i, line in ipairs(lines) do lines[i] = ("%6d\t%s"):format(first + i - 1, line) end
  local shown = first + #lines - 1
  if shown < last or not is_whole then lines[#lines + 1] = ("[lines %d to %d of %d]"):format(first, shown, n) end
  return table.concat(lines, "\n") .. (is_repaired and files.REPAIRED or "")
end

function commands.create(machine, input)
  if not input.file_text then return text.mistake "file_text: string expected, got nothing" end
  return files.save(machine, input.path, input.file_text,
    ("Wrote %d bytes to %s."):format(#input.file_text, input.path))
end

function commands.str_replace(machine, input)
  if not input.old_str then return text.mistake "old_str: string expected, got nothing" end
  return files.replace(machine, input.path, input.old_str, input.new_str or "")
end

function commands.insert(machine, input)
  local added, n = input.insert_text, math.tointeger(input.insert_line)
  if not n then return text.mistake "insert_line: integer expected, got nothing" end
  if not added then return text.mistake "insert_text: string expected, got nothing" end
  local bytes, fail = files.load(machine, input.path)
  if not bytes then return fail() end
  local at = core.text_after(bytes, n)
  if not at then return text.mistake(("insert_line: the file has %d lines"):format(text.count_lines(bytes))) end
  if added:sub(-1) ~= "\n" then added = added .. "\n" end
  local before = bytes:sub(1, at - 1)
  if before ~= "" and before:sub(-1) ~= "\n" then before = before .. text.like(bytes, "\n") end
  return files.save(machine, input.path, before .. text.like(bytes, added) .. bytes:sub(at),
    ("Inserted into %s after line %d."):format(input.path, n))
end

local function run(machine, input) return commands[input.command](machine, input) end

-- The tool under one of its names.
local function named(name)
  return {
    name = name, mutates = true, capped = true, run = run,
    description = "Views and edits text files. view: a file with line numbers, or a directory's entries. create: "
      .. "writes a file, directories above it included. str_replace: replaces a text that is in the file exactly "
      .. "once. insert: puts lines after a line.",
    parameters = { type = "object", required = { "command", "path" }, properties = {
      command = { type = "string", enum = { "view", "create", "str_replace", "insert" } },
      path = { type = "string", description = "The file or directory, relative to the working directory." },
      view_range = { type = "array", items = { type = "integer" },
        description = "view: first and last line, counted from 1; -1 as the second is the last line of the file." },
      file_text = { type = "string", description = "create: the whole content." },
      old_str = { type = "string", description = "str_replace: the text to replace." },
      new_str = { type = "string", description = "str_replace: the text in its place (default: nothing)." },
      insert_line = { type = "integer", minimum = 0,
        description = "insert: the line to insert after; 0 is the beginning." },
      insert_text = { type = "string", description = "insert: the lines to insert." },
    } },
  }
end

return { named "text_editor", named "str_replace_based_edit_tool" }
