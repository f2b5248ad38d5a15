--- Lists that a server gives in pages, read to their end.

local core = require "koine.core"
local failure = require "koine.protocol.mcp.client.failure"
local send = require "koine.protocol.mcp.client.send"
local wait = require "koine.task.wait"

local pages = {}

local PAGES_MAX, ITEMS_MAX = 1000, 100000
local BYTES_MAX = 64 << 20 -- of the entries, as JSON, and of the cursors

local function is_array(value) return type(value) == "table" and getmetatable(value) == core.array_mt end

--- The seconds for which a result may be kept, absent and negative ones being 0, and whether it is for one credential
-- alone.
function pages.freshness(result)
  local ttl = math.type(result.ttlMs) and result.ttlMs or 0
  return ttl > 0 and ttl / 1000 or 0, result.cacheScope ~= "public"
end

-- The options of the next request, which ends when the time for the whole list does: or nil, err.
local function within(connection, method, opts, latest)
  local left = latest and latest - wait.now()
  if left and left <= 0 then
    return nil, failure.new(connection, "timeout", method .. ": the list did not end in time", "total")
  end
  return { timeout = left, idle = opts.idle, parent = opts.parent }
end

-- Adds the entries of a page: the bytes that they take as JSON, or nil, err.
local function add(connection, method, items, page)
  if not is_array(page) then return nil, failure.new(connection, "protocol", method .. ": a page without its list") end
  for _, item in ipairs(page) do
    if type(item) ~= "table" then
      return nil, failure.new(connection, "protocol", method .. ": an entry that is no object")
    end
    items[#items + 1] = item
  end
  return #core.encode(page)
end

--- All entries of a list: an array of them as they came, with the fields `ttl` (seconds from the first page for which
-- it is fresh) and `private`; or nil, err: of kind protocol for a page without entries and a cursor that comes twice,
-- limit for more than 1,000 pages, timeout where opts.timeout (seconds for all pages together, nil: no limit) is over.
-- opts.idle is for each page, opts.parent as send.request has it. `key` is the field of a page that has its entries.
function pages.read(connection, method, key, opts)
  local items, seen, bytes, cursor = { ttl = math.huge, private = false }, {}, 0, nil
  local latest = opts.timeout and wait.now() + opts.timeout
  for _ = 1, PAGES_MAX do
    local limits, err = within(connection, method, opts, latest)
    if not limits then return nil, err end
    local result
    result, err = send.request(connection, method, { cursor = cursor }, limits)
    if not result then return nil, err end
    local size
    size, err = add(connection, method, items, result[key])
    if not size then return nil, err end
    bytes = bytes + size
    local ttl, private = pages.freshness(result)
    items.ttl, items.private = math.min(items.ttl, ttl), items.private or private
    cursor = result.nextCursor
    if type(cursor) ~= "string" then return items end
    if seen[cursor] then return nil, failure.new(connection, "protocol", method .. ": the same cursor came twice") end
    seen[cursor], bytes = true, bytes + #cursor
    if #items > ITEMS_MAX or bytes > BYTES_MAX then
      return nil, failure.new(connection, "limit", method .. ": the list is too long", "bytes")
    end
  end
  return nil, failure.new(connection, "limit", ("%s: more than %d pages"):format(method, PAGES_MAX), "pages")
end

return pages
