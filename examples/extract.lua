-- extract.lua: makes a table of a text file. Each paragraph is a note; the model takes the same fields out of each,
-- four notes at a time. A note that holds no such record is told on the standard error output.
-- Usage: lua5.4 examples/extract.lua FILE [SHAPE] [PROVIDER/MODEL] [NOTES AT A TIME]
local koine = require "koine"

local path = arg[1] or error('usage: extract.lua FILE ["name, born? int, city"] [PROVIDER/MODEL] [NOTES AT A TIME]', 0)
local shape = koine.schema.parse(arg[2] or "name, born? int: year, city: where the person was born")
local adapter = koine.adapter(arg[3] or "openai/gpt-4.1", { base_url = os.getenv "KOINE_BASE_URL" })

local work = { limit = tonumber(arg[4]) or 4 }
for note in (assert(koine.files.read(path)) .. "\n\n"):gmatch "(.-)\n%s*\n" do
  work[#work + 1] = note:find "%S" and function()
    local record, answer = adapter:object("Take the record out of this note:\n\n" .. note,
      { output = { schema = shape, repair = 1 } })
    if record ~= nil then return { record = record, answer = answer } end
    return { note = note, err = answer, answer = answer.partial }
  end or nil
end
local results = koine.gather(work)

-- Columns in the order of the shape, as wide as what is in them.
local columns, width = shape.propertyOrdering, {}
local function cell(value)
  if value == nil or value == koine.null then return "" end
  return (tostring(value):gsub("%c", " "))
end
local function widen(column, text) width[column] = math.max(width[column] or 0, utf8.len(text) or #text) end
for _, column in ipairs(columns) do
  widen(column, column)
  for _, result in ipairs(results) do
    if result.record then widen(column, cell(result.record[column])) end
  end
end

local function print_row(text_of)
  local cells = {}
  for i, column in ipairs(columns) do
    local text = text_of(column)
    cells[i] = text .. (" "):rep(width[column] - (utf8.len(text) or #text))
  end
  print((table.concat(cells, "  "):gsub("%s+$", "")))
end

print_row(function(column) return column end)
print_row(function(column) return ("-"):rep(width[column]) end)
local answers = { n = results.n }
for i, result in ipairs(results) do
  answers[i] = result.answer
  if result.record then
    print_row(function(column) return cell(result.record[column]) end)
  else
    io.stderr:write(("%q: %s\n"):format(result.note:gsub("%s+", " "):sub(1, 30), result.err))
  end
end

local usage = koine.usage.sum(answers)
print(("[%d answers, %d tokens in, %d out%s]"):format(usage.model_calls, usage.input_tokens, usage.output_tokens,
  usage.cost and (", %.4f USD"):format(usage.cost.total) or ""))
