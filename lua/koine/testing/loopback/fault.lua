--- Sends an answer as its `fault` says: late, slowly, in odd pieces, cut, reset, stalled, gzipped.
-- Offsets count bytes of the body as it travels (after gzip, before chunk framing); 0 is before the status line.

local gzip = require "koine.testing.loopback.gzip"
local http_server = require "koine.net.http_server"

local fault = {}

local ENDINGS = { "stall_after", "reset_after", "truncate_after", "end_after" }

--- The first place where the fault ends the answer: offset, kind; nil when there is none.
local function ending_of(f)
  local offset, kind
  for _, name in ipairs(ENDINGS) do
    if f[name] and (not offset or f[name] < offset) then
      offset, kind = f[name], name
    end
  end
  return offset, kind
end

--- The same bytes in other pieces: of write_bytes each, or cut exactly at the offsets of split_at.
local function repiece(pieces, f)
  if not f.write_bytes and not f.split_at then
    return pieces
  end
  local body, out, from = table.concat(pieces), {}, 1
  if f.write_bytes then
    for at = 1, #body, f.write_bytes do
      out[#out + 1] = body:sub(at, at + f.write_bytes - 1)
    end
    return out
  end
  for _, offset in ipairs(f.split_at) do
    if offset < #body then
      out[#out + 1] = body:sub(from, offset)
      from = offset + 1
    end
  end
  out[#out + 1] = body:sub(from)
  return out
end

--- The pieces up to `limit` bytes.
local function shorten(pieces, limit)
  local out, have = {}, 0
  for _, piece in ipairs(pieces) do
    if have + #piece >= limit then
      out[#out + 1] = piece:sub(1, limit - have)
      break
    end
    out[#out + 1] = piece
    have = have + #piece
  end
  return out
end

local function total(pieces)
  local n = 0
  for _, piece in ipairs(pieces) do
    n = n + #piece
  end
  return n
end

local function header_lines(response, f, size, keep)
  local lines = {}
  for _, header in ipairs(response.headers) do
    if not (f.content_type and header[1]:lower() == "content-type") then
      lines[#lines + 1] = header
    end
  end
  if f.content_type then
    lines[#lines + 1] = { "content-type", f.content_type }
  end
  if f.gzip or f.gzip_bomb then
    lines[#lines + 1] = { "content-encoding", "gzip" }
  end
  if size then
    lines[#lines + 1] = { "content-length", size }
  else
    lines[#lines + 1] = { "transfer-encoding", "chunked" }
  end
  lines[#lines + 1] = { "connection", keep and "keep-alive" or "close" }
  return lines
end

-- Sends the pieces, with so many milliseconds between two; counts the bytes in sent.bytes. nil when the peer left.
local function send_pieces(conn, pieces, chunked, pause, sent)
  for _, piece in ipairs(pieces) do
    if piece ~= "" then
      if pause and sent.bytes > 0 and not conn:pause(pause) then
        return nil
      end
      local framed = chunked and ("%x\r\n%s\r\n"):format(#piece, piece) or piece
      if not conn:send(framed) then
        return nil
      end
      sent.bytes = sent.bytes + #piece
    end
  end
  return true
end

local function finish(conn, kind)
  if kind == "stall_after" then
    conn:hang()
    return false, true
  elseif kind == "reset_after" then
    conn:reset()
  end
  return false
end

-- The pieces of a response's body under the fault table f, the size that its head says, and, where the fault ends it
-- early, after how many bytes and how.
local function lay_out(response, f)
  local pieces = response.pieces
  if f.gzip or f.gzip_bomb then
    pieces = gzip.wrap(pieces, f.gzip_bomb)
  end
  pieces = repiece(pieces, f)
  local limit, kind = ending_of(f)
  local size = total(pieces)
  if not limit or limit > size then
    return pieces, size
  end
  return shorten(pieces, limit), kind == "end_after" and limit or size, limit, kind
end

--- Sends `response` ({status, headers = array of {name, value}, pieces = array of strings, stream = boolean}) to the
-- request's connection under the fault table f. Returns true when the connection can serve another request; and, when
-- the peer left before the end, the number of body bytes sent until then.
function fault.send(conn, request, response, f)
  f = f or {}
  local keep, sent = http_server.keeps_alive(request), { bytes = 0 }
  local chunked = response.stream and request.version == "1.1"
  if response.stream and not chunked then
    keep = false -- an HTTP/1.0 stream ends with its connection
  end
  local pieces, size, limit, kind = lay_out(response, f)
  if f.delay_ms and not conn:pause(f.delay_ms) then
    return false, 0
  elseif limit == 0 then
    local _, left = finish(conn, kind)
    return false, left and 0 or nil
  end
  local length = not response.stream and size or nil
  local ok = conn:send(http_server.head(response.status, header_lines(response, f, length, keep)))
    and send_pieces(conn, pieces, chunked, f.pause_ms, sent)
  if not ok then
    return false, sent.bytes
  elseif limit and kind ~= "end_after" then
    local _, left = finish(conn, kind)
    return false, left and sent.bytes or nil
  elseif chunked and not conn:send("0\r\n\r\n") then
    return false, sent.bytes
  end
  return keep
end

return fault
