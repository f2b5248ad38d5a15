-- data.lua BUILD: writes the data of the pictures (docs/img/bench/*.dat) from the figures of `make bench` (BUILD/bench/
-- figures, curves) and of `make bench-peers` (peers.figures), as far as they are there; other data stay as they are.
local build = arg[1] .. "/bench/"
local target = "docs/img/bench/"

-- The figures in a file, by name; nil where it is not there or empty.
local function read(name)
  local file = io.open(build .. name)
  if not file then return nil end
  local figures = {}
  for line in file:lines() do
    local figure, value = line:match "^(%S+)%s+(%S+)"
    if tonumber(value) then figures[figure] = value end
  end
  file:close()
  return next(figures) and figures
end

local function write(name, columns, rows)
  local file <close> = assert(io.open(target .. name .. ".dat", "w"))
  assert(file:write(("# %s; %s\n"):format(columns, os.date "!%Y-%m-%d")))
  for _, row in ipairs(rows) do assert(file:write(table.concat(row, " "), "\n")) end
end

-- The points of a curve, smallest first: rows of a number and what `names` (with %d for the number) have there.
local function points(figures, numbers, ...)
  local rows = {}
  for _, n in ipairs(numbers) do
    local row = { n }
    for _, name in ipairs { ... } do row[#row + 1] = figures[name:format(n)] or "nan" end
    rows[#rows + 1] = row
  end
  return rows
end

local figures, curves, peers = read "figures", read "curves", read "peers.figures"

if figures then
  local rows = { { '"a chat"', figures.small_chat_fresh_baseline_us, figures.small_chat_fresh_koine_us } }
  for _, shape in ipairs { "Anthropic anthropic", "OpenAI Chat openai", "OpenAI Responses responses", "Gemini gemini",
    "Ollama ollama" } do
    local words, name = shape:match "^(.*) (%l+)$"
    local c, koine = figures["delta_" .. name .. "_lines_ns"], figures["delta_" .. name .. "_koine_ns"]
    rows[#rows + 1] = { ('"%s"'):format(words), c / 1000, koine / 1000 }
  end
  write("cpu", "what, CPU in us: C, Koine", rows)
end

if curves then
  write("memory", "streams, MiB: C, Koine",
    points(curves, { 1, 10, 100, 500, 1000, 2000, 5000 }, "memory_%d_c", "memory_%d_koine"))
  write("steps", "steps before, us of an agent's step", points(curves, { 3, 50, 100, 150, 200, 250, 300 }, "step_%d"))
  write("waits", "requests in the log, us of a limiter's wait",
    points(curves, { 50, 250, 500, 1000, 1500, 2000 }, "wait_%d"))
  write("dispatcher", "threads, us of a message", points(curves, { 10, 30, 100, 300, 1000 }, "dispatcher_%d_us"))
end

if peers then
  local rows = {}
  for _, who in ipairs { { "C", "c" }, { "Koine", "koine" }, { "Anthropic SDK", "anthropic" },
    { "OpenAI SDK", "openai" }, { "Vercel ai, Anthropic", "ai-anthropic" }, { "Vercel ai, OpenAI", "ai-openai" } } do
    local name = who[2]
    local delta = peers["delta_" .. name .. "_ns"] or peers["delta_anthropic_" .. name .. "_ns"]
    rows[#rows + 1] = { ('"%s"'):format(who[1]), peers["chat_" .. name .. "_us"], delta / 1000 }
  end
  write("peers", "who, CPU in us: a chat, a delta (of C and Koine: Anthropic's)", rows)
end
