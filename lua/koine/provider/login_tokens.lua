--- Login tokens: the access tokens that login modules hold for their accounts. An account is a table that the module
-- makes; its field `token` is the token, {expires = Unix seconds, …}, or nil. One coroutine asks for a token and the
-- others wait for it, and a token is not used in its last minutes.

local service = require "koine.provider.login_service"
local single_flight = require "koine.task.single_flight"

local login_tokens = {}

--- The seconds before its end in which a token is no longer used.
login_tokens.MARGIN = 300

local WAIT_MAX = 60 -- seconds that a coroutine waits for another one's token

local methods = {}
local tokens_mt = { __index = methods, __name = "koine.login_tokens" }

--- The tokens of a login module. `clock` returns the Unix seconds that its tokens expire in.
function login_tokens.new(clock)
  -- An account whose token is good is held here as well: the next adapter finds it though no other one is left.
  return setmetatable({ clock = clock, good = {} }, tokens_mt)
end

local function fresh(self, token) return token and self.clock() < token.expires - login_tokens.MARGIN end

--- Lets go of the accounts whose tokens are no longer good.
function methods:sweep()
  for account in next, self.good do
    if not fresh(self, account.token) then self.good[account] = nil end
  end
end

--- The account's token; fetch() is asked for one, or nil, err, when there is none or it is about to expire. Returns the
-- token, or nil, err. Ends at the deadline (a time of wait.now, nil = none).
function methods:get(account, fetch, deadline)
  if fresh(self, account.token) then return account.token end
  return single_flight(account, function()
    if fresh(self, account.token) then return account.token end
    local token, err = fetch()
    account.token, self.good[account] = token, token and true
    return token, err
  end, service.within(deadline, WAIT_MAX))
end

--- Takes back a token that was refused; another one in its place stays.
function methods:reject(account, token)
  if account.token == token then account.token, self.good[account] = nil, nil end
end

return login_tokens
