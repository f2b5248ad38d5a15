-- picture_rooms.lua: draws docs/img/rooms.svg from the blocks "```rooms" of docs/architecture.md: the plan that `make
-- arch` compares with the code. A room stands above all that it uses. A direct arrow is left out where a longer way
-- leads to the same room. With `--check` nothing is written: exits 1 where the picture differs. Run from the
-- project's root: `make generate`, and `make lint`, which checks.

local svg = dofile "tools/svg.lua"

local PAGE <const> = "docs/architecture.md"

-- Pixels.
local BOX_W <const>, BOX_H <const>, GAP <const>, LAYER <const> = 84, 26, 16, 54
local PAD <const>, HEAD <const> = 18, 40

-- The plan ----------------------------------------------------------------------------------------------------------

-- The rooms of a block, {{name = …, uses = {name, …}}, …}, in its order.
local function parse(block)
  local rooms = {}
  for line in block:gmatch "[^\n]+" do
    local room = { uses = {} }
    local uses
    room.name, uses = line:match "^([%w_.*]+):%s*(.-)%s*$"
    for name in uses:gmatch "%S+" do room.uses[#room.uses + 1] = name end
    rooms[#rooms + 1], rooms[room.name] = room, room
  end
  return rooms
end

local function plans()
  local file <close> = assert(io.open(PAGE, "rb"))
  local found = {}
  for folder, block in file:read "a":gmatch "\n```rooms (%S+)\n(.-)\n```" do found[folder] = parse(block) end
  return found
end

-- Whether a way of two arrows or more leads from one room to another.
local function is_implied(rooms, from, to)
  local function reaches(name)
    if name == to then return true end
    for _, use in ipairs(rooms[name].uses) do
      if reaches(use) then return true end
    end
    return false
  end
  for _, use in ipairs(from.uses) do
    if use ~= to and reaches(use) then return true end
  end
  return false
end

-- Layout ------------------------------------------------------------------------------------------------------------

-- Layers of rooms from the lowest up, with a place that holds nothing for each layer that an arrow passes.
local function layers_of(rooms)
  local layers = {}
  local function place(node, n)
    layers[n] = layers[n] or {}
    table.insert(layers[n], node)
    node.layer, node.below = n, {}
  end
  for _, room in ipairs(rooms) do
    local n = 1
    for _, use in ipairs(room.uses) do n = math.max(n, rooms[use].layer + 1) end
    place(room, n)
  end
  for _, room in ipairs(rooms) do
    for _, use in ipairs(room.uses) do
      if not is_implied(rooms, room, use) then
        local node = room
        for n = room.layer - 1, rooms[use].layer + 1, -1 do
          local empty = { empty = true }
          place(empty, n)
          node.below[#node.below + 1], node = empty, empty
        end
        node.below[#node.below + 1] = rooms[use]
      end
    end
  end
  return layers
end

-- Gives each node its x, the middle; a layer stands in the order of what its rooms use. Returns the width.
local function arrange(layers)
  local most = 0
  for _, layer in ipairs(layers) do most = math.max(most, #layer) end
  local width = most * (BOX_W + GAP) - GAP
  for n, layer in ipairs(layers) do
    for i, node in ipairs(layer) do
      local sum = 0
      for _, other in ipairs(node.below) do sum = sum + other.x end
      node.wish = (n > 1 and #node.below > 0 and sum / #node.below or width / 2) + i / 1000
    end
    table.sort(layer, function(a, b) return a.wish < b.wish end)
    local own = #layer * (BOX_W + GAP) - GAP
    for i, node in ipairs(layer) do node.x = (width - own) / 2 + (i - 1) * (BOX_W + GAP) + BOX_W / 2 end
  end
  return width
end

-- Drawing -----------------------------------------------------------------------------------------------------------

local function draw_arrow(out, node, x, bottom)
  local function y_of(one) return bottom - (one.layer - 1) * LAYER - BOX_H end
  for _, first in ipairs(node.below) do
    local from, path = node, { ("M%.1f %.1f"):format(x + node.x, y_of(node) + BOX_H) }
    local to = first
    while true do
      local y1, y2 = y_of(from) + BOX_H, y_of(to) - (to.empty and 0 or 7)
      local middle = (y1 + y2) / 2
      path[#path + 1] = ("C%.1f %.1f %.1f %.1f %.1f %.1f"):format(x + from.x, middle, x + to.x, middle, x + to.x, y2)
      if not to.empty then break end
      path[#path + 1] = ("V%.1f"):format(y_of(to) + BOX_H)
      from, to = to, to.below[1]
    end
    svg.arrow(out, table.concat(path, " "), x + to.x, y_of(to) - 1, 0, 1)
  end
end

-- Draws a plan as a panel whose top left corner is (x, y): its width and height.
local function draw(out, folder, rooms, x, y)
  local layers = layers_of(rooms)
  local inner = arrange(layers)
  local width, height = math.max(inner, 150) + 2 * PAD, HEAD + (#layers - 1) * LAYER + BOX_H + PAD
  svg.box(out, "panel", x, y, width, height)
  svg.text(out, "mono name", x + width / 2, y + 23, folder)
  local left, bottom = x + (width - inner) / 2, y + height - PAD
  for _, room in ipairs(rooms) do draw_arrow(out, room, left, bottom) end
  for _, room in ipairs(rooms) do
    local top = bottom - (room.layer - 1) * LAYER - BOX_H
    svg.box(out, folder:find "^src" and "core" or "box", left + room.x - BOX_W / 2, top, BOX_W, BOX_H)
    local name = room.name == "." and "(loose files)" or room.name == "*" and "(the others)" or room.name
    svg.text(out, #name > 11 and "small" or "", left + room.x, top + 17.5, name)
  end
  return width, height
end

local found, out, panels = plans(), {}, {}
local M <const> = 16
local lua_w, lua_h = draw(panels, "lua/koine", found["lua/koine"], M, M)
local right = M + lua_w + M
local core_w, core_h = draw(panels, "src/core", found["src/core"], right, M)
local src_w, src_h = draw(panels, "src", found["src"], right, M + core_h + M)
local codec_w, codec_h = draw(panels, "src/core/codec", found["src/core/codec"], right + src_w + M, M + core_h + M)
local width = right + math.max(core_w, src_w + M + codec_w) + M
local height = M + math.max(lua_h, core_h + M + math.max(src_h, codec_h)) + M
svg.box(out, "back", 0.5, 0.5, width - 1, height - 1)
svg.finish("docs/img/rooms.svg", svg.picture({ table.concat(out), table.concat(panels) },
  "The rooms of the source; an arrow leads to a room that is used", width, height))
