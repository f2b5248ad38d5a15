--- One login of a person, from the question where to ask until the tokens are there: authorisation code with PKCE,
-- whose answer comes to a listener on this machine or, as the user's function says it, from a person.

local call = require "koine.protocol.mcp.login.call"
local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local has = require("koine.protocol.mcp.login.metadata").has
local pkce = require "koine.protocol.mcp.login.pkce"
local redirect = require "koine.protocol.mcp.login.redirect"
local register = require "koine.protocol.mcp.login.register"
local tokens = require "koine.protocol.mcp.login.tokens"
local wait = require "koine.task.wait"

local flow = {}

local OFFLINE = "offline_access"
local SHOWN_MAX = 200 -- bytes of a server's words in an error

--- The scopes of several texts (nil: none), each once, in their order, with a space between them; nil for none.
function flow.union(...)
  local known, list = {}, {}
  for i = 1, select("#", ...) do
    for scope in (select(i, ...) or ""):gmatch "%S+" do
      if not known[scope] then known[scope], list[#list + 1] = true, scope end
    end
  end
  return list[1] and table.concat(list, " ")
end

--- The scope to ask for: what the user wants and the challenge names, else what the resource lists; with all that was
-- asked for before; nil for none. Where tokens for later are a scope of the server's, that too.
function flow.scope(options, asked, resource, meta, before)
  local wanted = flow.union(options.scope, asked.scope)
  local scope = flow.union(before, wanted or resource.scope)
  if scope and has(meta.scopes_supported, OFFLINE) then scope = flow.union(scope, OFFLINE) end
  return scope
end

-- Listens where the client that was registered before wants it, else anywhere.
local function listen(login, kept, state)
  local fixed = login.options.redirect_port
  local port = fixed or kept and math.tointeger(tonumber(kept.redirect_uri:match ":(%d+)/")) or 0
  local listener, err = redirect.listen(port, state)
  if not listener and err.code == "port" and not fixed then listener, err = redirect.listen(0, state) end
  return listener, err
end

-- Where the person is to go.
local function url_of(meta, client, resource, scope, secrets)
  local fields = { response_type = "code", client_id = client.id, redirect_uri = client.redirect_uri,
    code_challenge = secrets.challenge, code_challenge_method = "S256", state = secrets.state,
    resource = resource.resource, scope = scope }
  if (" " .. (scope or "") .. " "):find(" " .. OFFLINE .. " ", 1, true) then fields.prompt = "consent" end
  local url = meta.authorization_endpoint
  return url .. (url:find("?", 1, true) and "&" or "?") .. call.form(fields)
end

-- Asks the person: the query of the answer; or nil, err.
local function ask(login, listener, url, state)
  local latest = wait.now() + login.options.timeout
  local ok, said, failed = pcall(login.options.on_url, url)
  if not ok then
    if check.is_memory(said) then error(said, 0) end
    if errors.is_error(said) then return nil, said end
    return nil, call.failure("other", "on_url raised: " .. errors.words(said))
  end
  if said == nil and failed ~= nil then
    if errors.is_error(failed) then return nil, failed end
    return nil, call.failure("auth", "no login: " .. errors.words(failed), "declined")
  end
  if type(said) == "string" then return redirect.read(said, state) end
  return listener:wait(latest)
end

-- The code of an answer; or nil, err. Who answered is judged before anything that is said.
local function code_of(meta, answer)
  if answer.iss ~= nil and answer.iss ~= meta.issuer then
    return nil, call.failure("auth", "another authorisation server answered than the one that was asked", "issuer")
  elseif answer.iss == nil and meta.authorization_response_iss_parameter_supported == true then
    return nil, call.failure("auth", "the answer does not say which authorisation server it is of", "issuer")
  elseif answer.error then
    local words = answer.error
    if answer.error_description then words = ("%s (%s)"):format(words, answer.error_description) end
    return nil, call.failure("auth", "the login was refused: " .. words:gsub("%c", " "):sub(1, SHOWN_MAX),
      answer.error:gsub("%c", " "):sub(1, SHOWN_MAX))
  elseif not answer.code or answer.code == "" then
    return nil, call.failure("protocol", "the answer to the login has no code")
  end
  return answer.code
end

-- Keeps a client that was registered now: true, or nil, err.
local function keep_client(login, issuer, client)
  return login.kept:change(function(data)
    data.clients[issuer] = client
    return true
  end)
end

-- The client to be at an issuer; or nil, err.
local function client_at(login, meta, listener, kept)
  local client, is_new = register.client(login, meta, listener.uri, kept)
  if not client then return nil, is_new end
  if is_new then
    local ok, err = keep_client(login, meta.issuer, client)
    if not ok then return nil, err end
  end
  return client
end

--- Has a person log in: an entry as kept.lua describes it, which is not kept yet; or nil, err. `resource` and `meta`
-- are what metadata.lua found; `scope` is a text or nil.
function flow.login(login, resource, meta, scope)
  local kept, err = login.kept:client(meta.issuer)
  if kept == nil then return nil, err end
  local secrets = pkce.new()
  local listener <close>, refused = listen(login, kept or nil, secrets.state)
  if not listener then return nil, refused end
  local client, answer, code, made
  client, err = client_at(login, meta, listener, kept or nil)
  if not client then return nil, err end
  answer, err = ask(login, listener, url_of(meta, client, resource, scope, secrets), secrets.state)
  if not answer then return nil, err end
  code, err = code_of(meta, answer)
  if not code then return nil, err end
  made, err = tokens.exchange(login, meta.token_endpoint, client, resource.resource, code, secrets.verifier)
  if not made then return nil, err end
  return { issuer = meta.issuer, resource = resource.resource, url = login.options.url, endpoint = meta.token_endpoint,
    client = client, at = core.wall(), access_token = made.access_token, refresh_token = made.refresh_token,
    expires = made.expires, scope = made.scope or scope, asked = scope }
end

return flow
