-- passdb.lua: for Dovecot's auth-lua: the password of a user is what the model says about the user's name. Dovecot
-- calls it in worker processes (blocking=yes), one lookup after the other in each.
-- luacheck: globals dovecot script_init script_deinit auth_passdb_lookup
local koine, claude

function script_init()
  koine = require "koine"
  claude = koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = os.getenv "KOINE_URL", retry = false }
  return 0
end

function script_deinit() claude:close() end

function auth_passdb_lookup(request)
  local response, err = koine.timeout(5, claude.chat, claude, request.user)
  if not response then return dovecot.auth.PASSDB_RESULT_INTERNAL_FAILURE, tostring(err) end
  return dovecot.auth.PASSDB_RESULT_OK, { password = (response:text():gsub(" ", "_")) }
end
