--- Where GitHub tokens come from, and the file that keeps one: the owner's alone, in a directory that is the owner's
-- alone.

local core = require "koine.core"
local check = require "koine.data.check"
local getenv = require "koine.data.host.getenv"
local service = require "koine.provider.login_service"
local shown_path = require("koine.data.text").shown_path

local github_token = {}

local FILE_MAX = 4096        -- bytes of a token file
local EDITOR_FILE_MAX = 1 << 20

local NAME = "token_path"

local function environment(name)
  local value = getenv(name)
  return value ~= "" and value or nil
end

-- The directory of the user's configuration; nil when the environment names none.
local function configuration()
  local directory = environment "XDG_CONFIG_HOME"
  if directory and directory:sub(1, 1) == "/" then return directory end
  local home = environment "HOME"
  return home and home .. "/.config"
end

--- The path of the token file: the option token_path, else one in the user's configuration; nil when there is no such
-- directory.
function github_token.path(settings)
  local directory = not settings.token_path and configuration()
  return settings.token_path or directory and directory .. "/koine/copilot_github_token" or nil
end

local function refused(state, path, err) return nil, service.file_refusal(state.row, NAME, path, err) end

-- The token, unless it is unfit for a header.
local function fit(state, token, place)
  local problem = check.key_problem(token)
  if not problem then return token end
  return nil, service.refusal(state.row, ("the token in %s is %s"):format(place, problem))
end

local function given(state) return state.settings.github_token end

--- The token in the file: nil when there is none or it is empty; nil, err when the file is refused.
function github_token.kept(state)
  local path = state.login.token_path
  if not path then return nil end
  local text, err = core.file_read(path, FILE_MAX)
  if not text then
    if err.code == "absent" then return nil end
    return refused(state, path, err)
  end
  text = text:match "^%s*(.-)%s*$"
  if text == "" then return nil end
  return fit(state, text, shown_path(path) or NAME)
end

local function from_environment(state)
  for _, name in ipairs { "GH_COPILOT_TOKEN", environment "CODESPACES" and "GITHUB_TOKEN" or nil } do
    local token = environment(name)
    if token then return fit(state, token, name) end
  end
end

-- The object in a JSON file, or an empty table.
local function object_in(path) return service.object(core.file_read_any(path, EDITOR_FILE_MAX) or "") or {} end

-- A token that an editor's login left: {HOST or HOST:CLIENT = {oauth_token}}.
local function from_editors(state)
  local directory, host = configuration(), state.login.host.name
  if not directory then return nil end
  for _, name in ipairs { "hosts", "apps" } do
    local entries, keys = object_in(("%s/github-copilot/%s.json"):format(directory, name)), {}
    for key in pairs(entries) do
      if key == host or type(key) == "string" and key:sub(1, #host + 1) == host .. ":" then keys[#keys + 1] = key end
    end
    table.sort(keys, core.before)
    for _, key in ipairs(keys) do
      local token = type(entries[key]) == "table" and entries[key].oauth_token
      if not check.key_problem(token) then return token end
    end
  end
end

local SOURCES = { given, github_token.kept, from_environment, from_editors }

--- The first GitHub token of the sources, from the n-th on (1, the default, is the constructor's option): the token,
-- nil and the number of its source; nil when there is none; nil, err when a source is unfit.
function github_token.find(state, first)
  for i = first or 1, #SOURCES do
    local token, err = SOURCES[i](state)
    if token or err then return token, err, i end
  end
end

-- The directory of a path.
local function parent(path) return path:match "^(.*[^/])/+[^/]*$" or path:match "^/" or "." end

--- Makes the directory of the token file: true, or nil, err.
function github_token.make_room(state)
  local path = state.login.token_path
  if not path then
    return nil, service.refusal(state.row, "no place to keep the login: neither HOME nor the option token_path is set")
  end
  local made, err = core.file_directory(parent(path))
  if made then return true end
  return refused(state, path, err)
end

--- Keeps a token in the file: true, or nil, err; also for one that could not be read again.
function github_token.keep(state, token)
  if #token >= FILE_MAX then
    return nil, service.refusal(state.row, ("GitHub's token has %d bytes; %d are kept at most")
      :format(#token, FILE_MAX - 1))
  end
  local path = state.login.token_path
  local written, err = core.file_write(path, token .. "\n")
  if written then return true end
  return refused(state, path, err)
end

--- Removes the file: true, also when there was none; or nil, err.
function github_token.forget(state)
  local path = state.login.token_path
  if not path then return true end
  local removed, err = core.file_remove(path)
  if removed then return true end
  return refused(state, path, err)
end

return github_token
