-- picture_koine.lua: draws docs/img/koine.svg, the picture of README: a program, Koine, providers, and what else Koine
-- talks to. The providers come from the rows. With `--check` nothing is written: exits 1 where the picture differs. Run
-- from the project's root: `make generate`, and `make lint`, which checks.

package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path

local names = require "koine.provider.names"
local svg = dofile "tools/svg.lua"

local box, text = svg.box, svg.text
local out = {}

-- Pixels.
local WIDTH <const>, HEIGHT <const> = 860, 412
local PROGRAM <const>, KOINE <const>, PROVIDERS <const> = { x = 20, w = 168 }, { x = 262, w = 336 },
  { x = 672, w = 168 }
local TOP <const>, BOTTOM <const> = 20, 286 -- of the three columns
local BELOW <const> = 326                   -- the top of what stands below Koine

-- A box with a bold name and lines in small letters.
local function card(class, x, y, width, height, name, ...)
  box(out, class, x, y, width, height)
  text(out, "name", x + width / 2, y + 20, name)
  for i, line in ipairs { ... } do text(out, "dim small", x + width / 2, y + 21 + 17 * i, line) end
end

local function draw_program()
  local x, w = PROGRAM.x, PROGRAM.w
  box(out, "panel", x, TOP, w, BOTTOM - TOP)
  text(out, "name", x + w / 2, TOP + 24, "Your program")
  card("box", x + 12, TOP + 40, w - 24, 62, "a Lua script", "plain, or in luv,", "cqueues, your loop")
  card("box", x + 12, TOP + 114, w - 24, 62, "a C program", "with Lua inside,", "or libkoine.a")
  card("box", x + 12, TOP + 188, w - 24, 62, "a shell, an editor", "the command koine,", "or its agent by ACP")
end

local function draw_koine()
  local x, w = KOINE.x, KOINE.w
  box(out, "panel", x, TOP, w, BOTTOM - TOP)
  text(out, "name", x + w / 2, TOP + 24, "Koine")
  local third = (w - 24 - 16) / 3
  for i, card_of in ipairs { { "agents", "a model and", "its tools" }, { "sessions", "coding in a", "repository" },
    { "dispatchers", "many people,", "many threads" } } do
    card("box", x + 12 + (i - 1) * (third + 8), TOP + 40, third, 62, table.unpack(card_of))
  end
  card("box", x + 12, TOP + 114, w - 24, 62, "adapters",
    "chat, stream, structured output, embeddings", "retries, limits, costs")
  card("core", x + 12, TOP + 188, w - 24, 62, "the core, in C",
    "wire formats, histories, JSON, processes", "HTTP on libcurl")
end

local function draw_providers()
  local x, w = PROVIDERS.x, PROVIDERS.w
  box(out, "panel", x, TOP, w, BOTTOM - TOP)
  text(out, "name", x + w / 2, TOP + 24, "Providers")
  for i, wire in ipairs { { "Claude", "Messages" }, { "OpenAI", "Responses" }, { "Groq, Mistral, …", "Chat" },
    { "Gemini, Vertex AI", "Gemini" }, { "Amazon Bedrock", "Converse" }, { "Ollama", "Ollama" } } do
    local y = TOP + 5 + i * 35
    box(out, "box", x + 12, y, w - 24, 31)
    text(out, "small name", x + w / 2, y + 13, wire[1])
    text(out, "dim small", x + w / 2, y + 26, wire[2])
  end
  text(out, "dim small", x + w / 2, BOTTOM - 7, ("%d constructors"):format(#names))
end

-- From one column to the next, both ways.
local function draw_way(from, to, y, label)
  svg.arrow(out, ("M%d %d H%d"):format(from + 6, y, to - 8), to - 2, y, 1, 0)
  svg.arrow(out, ("M%d %d H%d"):format(to - 6, y + 14, from + 8), from + 2, y + 14, -1, 0)
  text(out, "dim small", (from + to) / 2, y - 8, label)
end

local function draw_below()
  local cards = { { "tools", "your functions, MCP", "servers, files, commands" },
    { "stores", "memory, file,", "Redis, SQL" }, { "observers", "logs, costs,", "traces" } }
  local w = 168
  for i, card_of in ipairs(cards) do
    local x = KOINE.x + KOINE.w / 2 - w / 2 + (i - 2) * (w + 14)
    card("box", x, BELOW, w, 66, table.unpack(card_of))
    local middle = x + w / 2
    local from = math.max(KOINE.x + 24, math.min(KOINE.x + KOINE.w - 24, middle))
    svg.arrow(out, ("M%d %d V%d"):format(from, BOTTOM, BELOW - 8), from, BELOW - 2, 0, 1)
  end
end

box(out, "back", 0.5, 0.5, WIDTH - 1, HEIGHT - 1)
draw_program()
draw_koine()
draw_providers()
draw_way(PROGRAM.x + PROGRAM.w, KOINE.x, 142, "require")
draw_way(KOINE.x + KOINE.w, PROVIDERS.x, 142, "HTTP")
draw_below()
svg.finish("docs/img/koine.svg", svg.picture(out,
  "A program requires Koine, which asks providers over HTTP and uses tools, stores and observers", WIDTH, HEIGHT))
