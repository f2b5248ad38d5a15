--- The text of an answer while it arrives: what adapter:text(messages, opts) of every adapter gives to a generic for.
-- The loop owns the stream, and leaving it in any way closes that at once. An answer that fails raises its error from
-- the loop, as adapter:stream does: the pieces before it were given, and stand in err.partial, too.

local errors = require "koine.data.errors"

local pieces = {}

--- Raises an ArgumentError where the options of a call (nil: none) have `output`: an answer with a shape may be another
-- one after the first, or come in a tool call, and is no text then.
function pieces.check(opts)
  if type(opts) == "table" and opts.output ~= nil then
    errors.argument("output", "no output (adapter:stream and adapter:object take it)", opts.output)
  end
end

-- The text of a delta where it has some, else nil: deltas may be those of an adapter in Lua.
local function piece_of(delta)
  local text = delta.type == "text_delta" and delta.text
  return type(text) == "string" and text ~= "" and text or nil
end

--- The four values of a generic for over the pieces of text of what adapter:open returned: a function, the stream, nil,
-- the stream. Pieces are strings, none of them empty. Raises the error of a call that did not start.
function pieces.of(stream, err)
  if not stream then error(err, 0) end
  local step = stream:deltas()
  local function next_piece(self)
    local delta, piece
    repeat
      delta = step(self)
      piece = delta and piece_of(delta)
    until piece or not delta
    return piece
  end
  return next_piece, stream, nil, stream
end

return pieces
