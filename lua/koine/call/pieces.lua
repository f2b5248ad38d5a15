--- The text of an answer while it arrives: what adapter:text(messages, opts) of every adapter gives to a generic for.
-- The loop owns the stream, and leaving it in any way closes that at once. An answer that fails raises its error from
-- the loop, as adapter:stream does: the pieces before it were given, and stand in err.partial, too.

local errors = require "koine.data.errors"

local pieces = {}

--- Raises an ArgumentError where the options of a call (nil: none) have `output`: an answer with a shape may be another
-- one after the first, or come in a tool call, and is no text then.
function pieces.check(opts)
  if type(opts) == "table" and opts.output ~= nil then
    errors.argument("output", "no such option of text (stream and object have it)", opts.output)
  end
end

--- The four values of a generic for over the pieces of text of what adapter:open returned: a function, the stream, nil,
-- the stream. Pieces are strings, none of them empty. Raises the error of a call that did not start.
function pieces.of(stream, err)
  if not stream then error(err, 0) end
  local step = stream:deltas()
  local function next_piece(self)
    local delta
    repeat delta = step(self) until not delta or delta.type == "text_delta"
    return delta and delta.text
  end
  return next_piece, stream, nil, stream
end

return pieces
