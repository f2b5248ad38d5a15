--- Names of a server's tools as models see them: legal on every wire, and no two alike. The name of a tool that needs
-- no change is PREFIX_NAME. What is too long, or would be the name of two tools, is cut and ends with "_" and 8 hex
-- digits of a hash of the server's key and the tool's full name: it does not depend on the order of the tools, or on
-- which others there are today. Names are never read back: who makes them keeps what they stand for.

local core = require "koine.core"

local name = {}

local MAX = 64        -- bytes: the least that any wire allows
local HASH_BYTES = 4  -- of a digest, two hex digits each
local CUT = MAX - 1 - 2 * HASH_BYTES

--- A text (string) with every byte but ASCII's letters and digits, "_" and "-" replaced by "_".
function name.safe(text) return (text:gsub("[^A-Za-z0-9_-]", "_")) end

local function hex(byte) return ("%02x"):format(byte:byte()) end

local function hash(server, full, try)
  local seed = server .. "\0" .. full
  if try > 0 then seed = seed .. "\0" .. try end
  return (core.sha256(seed):sub(1, HASH_BYTES):gsub(".", hex))
end

--- The name with a hash: `plain` (a legal text) cut, and the hash of the server's key and the tool's full name. It is
-- none of the keys of `taken`.
function name.marked(plain, server, full, taken)
  for try = 0, math.huge do
    local made = plain:sub(1, CUT) .. "_" .. hash(server, full, try)
    if not taken[made] then return made end
  end
end

-- By plain name: the full name of the tool that keeps it, false where no single one can. A name that needs no change
-- goes before those that do.
local function keepers(fulls, plain_of)
  local exact, changed = {}, {}
  for _, full in ipairs(fulls) do
    local plain = plain_of[full]
    if name.safe(full) == full then
      exact[plain] = full
    else
      changed[plain] = changed[plain] == nil and full
    end
  end
  for plain, full in next, exact do changed[plain] = full end
  return changed
end

--- The names of the tools of one server: a table {full name = name}. `fulls` is an array of the full names (strings, no
-- two alike), `server` the server's key, `prefix` what stands before the names (a string; false: nothing). Never
-- raises for what a server may say.
function name.assign(fulls, server, prefix)
  local plain_of, made, taken, others = {}, {}, {}, {}
  for _, full in ipairs(fulls) do plain_of[full] = (prefix and name.safe(prefix) .. "_" or "") .. name.safe(full) end
  local keeps = keepers(fulls, plain_of)
  for _, full in ipairs(fulls) do
    local plain = plain_of[full]
    if keeps[plain] == full and plain ~= "" and #plain <= MAX then
      made[full], taken[plain] = plain, true
    else
      others[#others + 1] = full
    end
  end
  table.sort(others, core.before)
  for _, full in ipairs(others) do
    made[full] = name.marked(plain_of[full], server, full, taken)
    taken[made[full]] = true
  end
  return made
end

--- Whether `made`, a name of a tool of the server with that key, could be that of a tool of another one of `keys` (an
-- array of all servers' keys), with the keys as prefixes: of a_b's tool c, where a has b_c.
function name.is_ambiguous(made, key, keys)
  local own = name.safe(key)
  for _, other in ipairs(keys) do
    local prefix = name.safe(other)
    if other ~= key then
      if prefix == own and own ~= key then return true end
      if #prefix > #own and made:sub(1, #prefix + 1) == prefix .. "_" then return true end
    end
  end
  return false
end

return name
