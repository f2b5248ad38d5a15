--- What the errors of a Redis server mean for the caller of a store. Secrets are taken out of all words.

local core = require "koine.core"
local errors = require "koine.data.errors"

local failure = {}

-- First word of the server's error → kind.
-- Source: https://redis.io/docs/latest/develop/reference/protocol-spec/, src/server.c, src/acl.c of Redis 7.0.
local KINDS = { NOAUTH = "auth", WRONGPASS = "auth", NOPERM = "permission", DENIED = "permission", OOM = "limit",
  MISCONF = "limit", LOADING = "overloaded", BUSY = "overloaded", TRYAGAIN = "overloaded", READONLY = "overloaded",
  MASTERDOWN = "overloaded", CLUSTERDOWN = "overloaded", NOREPLICAS = "overloaded", WRONGTYPE = "protocol" }

-- Words behind ERR → kind.
local WORDS = { { "max number of clients", "overloaded" }, { "ACL failure in script", "permission" },
  { "invalid password", "auth" }, { "without any password configured", "auth" } }

local CLUSTER = { MOVED = true, ASK = true, CROSSSLOT = true }

local function kind_of(reply)
  if KINDS[reply.code] then return KINDS[reply.code] end
  for _, case in ipairs(WORDS) do
    if reply.message:find(case[1], 1, true) then return case[2] end
  end
  return "other"
end

--- The error of an error reply. `where` is the server's address, `secrets` an array of what may not be shown.
function failure.of_reply(reply, where, secrets)
  local kind, message = kind_of(reply), core.redact(reply.message, secrets)
  if CLUSTER[reply.code] then
    message = "another node of a cluster has the keys: a store needs one node, or a prefix whose hash tag it serves: "
      .. message
  elseif kind == "protocol" then
    message = "a key holds what no store has put there: " .. message
  end
  return errors.new { kind = kind, code = core.redact(reply.code, secrets),
    message = ("redis at %s: %s"):format(where, message) }
end

--- The error of a connection: its own, with the address.
function failure.of_connection(err, where, secrets)
  return errors.new { kind = err.kind, code = err.code, retryable = err.retryable,
    message = ("redis at %s: %s"):format(where, core.redact(err.message, secrets)) }
end

--- The error of a reply that does not fit what was asked, an operation or a command.
function failure.odd(where, asked)
  return errors.new { kind = "protocol", message = ("redis at %s: unexpected answer to %s"):format(where, asked) }
end

--- The error of a server that closed the connection.
function failure.closed(where)
  return errors.new { kind = "connect", message = ("redis at %s: the connection was closed"):format(where) }
end

--- The error of a call that a finalizer made in the middle of another one.
function failure.inside(where)
  return errors.new { kind = "timeout", code = "lock", retryable = false,
    message = ("redis at %s: called during an operation, for example by a finalizer; nothing was done"):format(where) }
end

--- The error of a server that did not answer in time. What was asked may have happened.
function failure.late(where, seconds)
  return errors.new { kind = "timeout", code = "reply",
    message = ("redis at %s: no answer within %g s; a write may have happened"):format(where, seconds) }
end

return failure
