--- What the errors of a database mean for the caller of a store. Drivers give words alone, so the words decide; those
-- of a server that speaks another language than English are kind "other", unless the connection is gone.

local errors = require "koine.data.errors"

local failure = {}

-- Part of the message in small letters → kind; the first that is found counts.
-- Source: sqlite3_errstr of SQLite 3.40; errcodes and messages of PostgreSQL 15, libpq's.
local WORDS = {
  sqlite = { { "is locked", "overloaded" }, { "disk is full", "limit" }, { "too big", "limit" },
    { "out of memory", "limit" }, { "readonly database", "permission" }, { "unable to open", "connect" },
    { "malformed", "protocol" }, { "not a database", "protocol" }, { "closed connection", "connect" },
    { "connection closed", "connect" } },
  postgres = { { "password authentication failed", "auth" }, { "no password supplied", "auth" },
    { "no pg_hba.conf entry", "auth" }, { "authentication failed", "auth" }, { "role \".-\" does not exist", "auth" },
    { "permission denied", "permission" }, { "must be owner", "permission" },
    { "read%-only transaction", "overloaded" }, { "deadlock detected", "overloaded" },
    { "could not serialize", "overloaded" }, { "lock timeout", "overloaded" }, { "too many clients", "overloaded" },
    { "too many connections", "overloaded" }, { "remaining connection slots", "overloaded" },
    { "the database system is", "overloaded" }, { "statement timeout", "timeout" },
    { "no space left", "limit" }, { "disk full", "limit" }, { "out of memory", "limit" }, { "quota", "limit" },
    { "terminating connection", "connect" }, { "server closed the connection", "connect" },
    { "connection to server", "connect" }, { "could not connect", "connect" }, { "no connection", "connect" },
    { "connection not open", "connect" }, { "closed connection", "connect" }, { "connection closed", "connect" },
    { "could not receive data", "connect" }, { "could not send data", "connect" }, { "connection refused", "connect" },
    { "could not translate host", "connect" } },
}

local NO_TABLES = { "no such table: koine_", "relation \"koine_[%w_]+\" does not exist" }

-- Passwords in what a driver is given to connect with: "password=…", "://user:…@".
local SECRETS = { "password%s*=%s*'([^']+)'", "password%s*=%s*([^%s'&]+)", "://[^/%s:@]*:([^@%s]+)@" }

-- The same where a password holds a blank that is not quoted, or one of / ? # @ as itself. Drivers cut it there, and
-- show a piece. These take too much rather than too little.
local UNQUOTED = { "password%s*=%s*(.*)$", "://[^/%s:@]*:(.*)@" }
local PIECE_MIN = 3 -- bytes: a shorter piece stands in too many words

--- The passwords in a connection string, and pieces of those that are not quoted as they should be: an array, longest
-- first.
function failure.secrets(source)
  local list = {}
  for _, pattern in ipairs(SECRETS) do
    for secret in source:gmatch(pattern) do list[#list + 1] = secret end
  end
  for _, pattern in ipairs(UNQUOTED) do
    for piece in (source:match(pattern) or ""):gmatch "[^%s/?#@'&]+" do
      if piece:find("=", 1, true) then break end -- the next field
      if #piece >= PIECE_MIN then list[#list + 1] = piece end
    end
  end
  table.sort(list, function(a, b) return #a > #b end)
  return list
end

--- The error for what a driver said: a text, or one of Koine's errors, which stays as it is.
function failure.of(dialect, said, secrets)
  if errors.is_error(said) then return said end
  if said == nil then said = "it failed without a reason" end
  local first = tostring(said):gsub("^LuaSQL: ", ""):match "[^\r\n]*"
  for _, secret in ipairs(secrets or {}) do -- also shorter ones than redact looks for
    local at, last = first:find(secret, 1, true)
    while at do
      first = first:sub(1, at - 1) .. "[redacted]" .. first:sub(last + 1)
      at, last = first:find(secret, at + 10, true)
    end
  end
  local words, kind = first:lower(), "other"
  for _, pattern in ipairs(NO_TABLES) do
    if words:find(pattern) then
      return errors.new { kind = "other", code = "no_tables", message = ("%s: %s: the tables are missing; run the text "
        .. "of koine.store.schema %q once"):format(dialect, first, dialect) }
    end
  end
  for _, case in ipairs(WORDS[dialect]) do
    if words:find(case[1]) then
      kind = case[2]
      break
    end
  end
  local code = kind == "limit" and (words:find("full", 1, true) or words:find("no space", 1, true)) and "full" or nil
  return errors.new { kind = kind, code = code, message = ("%s: %s"):format(dialect, first) }
end

--- The error of a connection that was lost: what failed in its middle did not happen, unless it was being committed.
function failure.lost(dialect, err, committing)
  return errors.new { kind = "connect", code = committing and "commit" or nil,
    message = ("%s: the connection was lost%s: %s"):format(dialect,
      committing and " while a change was being committed, which may have happened" or "",
      (err.message:gsub("^" .. dialect .. ": ", ""))) }
end

--- The error of a `query` that was cut short: its next reply may be the one that was not waited for.
function failure.cut(dialect)
  return errors.new { kind = "connect", code = "cut_short", retryable = false,
    message = ("%s: `query` ended in the middle of an operation, and its reply may still come; open another store, or "
      .. "use `connect`"):format(dialect) }
end

--- The error of a row without what its column must hold, `expected` in words; of no row (nil) where one must be.
function failure.odd(dialect, row, column, expected)
  if row == nil then
    return errors.new { kind = "protocol", message = ("%s: unexpected answer without a row, one with %s in the column "
      .. "%s expected"):format(dialect, expected, column) }
  end
  local got = type(row) == "table" and row[column]
  return errors.new { kind = "protocol", message = ("%s: unexpected row: %s in the column %s expected, got %s"):format(
    dialect, expected, column, got == nil and "nothing" or "a " .. type(got or row)) }
end

return failure
