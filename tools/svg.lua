-- svg.lua: what the programs that draw pictures share: colours for light and dark pages, boxes, texts, arrows, the
-- frame, and writing the file. The same sources give the same bytes.

local svg = {}

-- Of every picture: light, and what a dark page has of it.
local LIGHT <const> = [[
    .back { fill: #fff; stroke: #e1e4e9; } .dim { fill: #59616b; }
    text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1b1e23; }
]]
local DARK <const> = [[
      .back { fill: #14161a; stroke: #2b3037; } text { fill: #e6e8eb; } .dim { fill: #a0a9b4; }
]]

-- Of boxes and arrows.
local BOXES <const> = { light = [[
    .panel { fill: #f7f8fa; stroke: #d5dae1; } .box { fill: #fff; stroke: #aab3bf; }
    .core { fill: #e8f0fc; stroke: #6f9fe0; }
    .line { fill: none; stroke: #59616b; stroke-width: 1.4; } .tip { fill: #59616b; }
    text { text-anchor: middle; } .small { font-size: 11.5px; } .name { font-weight: 600; }
    .start { text-anchor: start; }
    .mono { font-family: ui-monospace, Menlo, "DejaVu Sans Mono", monospace; font-size: 11.5px; }
]], dark = [[
      .panel { fill: #191c21; stroke: #343a43; } .box { fill: #1f2329; stroke: #59626e; }
      .core { fill: #1b2a40; stroke: #4f7fc0; } .line { stroke: #a0a9b4; } .tip { fill: #a0a9b4; }
]] }

local ENTITIES <const> = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

--- The text with what XML reserves spelled out.
function svg.escape(text) return (text:gsub('[&<>"]', ENTITIES)) end

--- Appends a formatted line to an array of lines.
function svg.add(out, format, ...) out[#out + 1] = "  " .. format:format(...) .. "\n" end

--- Appends a rectangle with round corners, of a class: back, panel, box or core.
function svg.box(out, class, x, y, width, height)
  svg.add(out, '<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="7"/>', class, x, y, width, height)
end

--- Appends a text around (or, with the class start, from) x, on the line y.
function svg.text(out, class, x, y, text)
  svg.add(out, '<text class="%s" x="%.1f" y="%.1f">%s</text>', class, x, y, svg.escape(text))
end

--- Appends an arrow along a path of SVG that ends at (x, y), where it goes in the direction (dx, dy) of length 1.
function svg.arrow(out, path, x, y, dx, dy)
  local bx, by, nx, ny = x - 8 * dx, y - 8 * dy, -4 * dy, 4 * dx
  svg.add(out, '<path class="line" d="%s"/>', path)
  svg.add(out, '<path class="tip" d="M%.1f %.1f L%.1f %.1f L%.1f %.1f Z"/>', x, y, bx + nx, by + ny, bx - nx, by - ny)
end

--- The whole picture: a text. `style` has what the picture has beside the colours of all: {light, dark}, rules of CSS,
-- the latter for dark pages; nil: that of boxes and arrows.
function svg.picture(out, title, width, height, style)
  style = style or BOXES
  local head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">\n'
  return head:format(width, height, width, height) .. "  <style>\n" .. LIGHT .. style.light
    .. "    @media (prefers-color-scheme: dark) {\n" .. DARK .. style.dark .. "    }\n  </style>\n  <title>"
    .. svg.escape(title) .. "</title>\n" .. table.concat(out) .. "</svg>\n"
end

--- Writes the picture to a file where it differs; with the argument `--check` it exits 1 instead.
function svg.finish(path, picture)
  local there <close> = io.open(path, "rb")
  if there and there:read "a" == picture then return end
  local check = arg[1] == "--check"
  print(path .. (check and ": differs from what make generate writes" or ""))
  if check then os.exit(false) end
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(picture))
end

return svg
