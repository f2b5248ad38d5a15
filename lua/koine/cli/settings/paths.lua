--- Where the command line keeps what is the user's, by the XDG base directory specification; and addresses as they may
-- be shown.

local paths = {}

local function directory(variable, below_home)
  local base, home = os.getenv(variable) or "", os.getenv "HOME" or ""
  if base:find "^/" then return base .. "/koine" end -- the specification has relative ones ignored
  return home ~= "" and home .. below_home .. "/koine" or nil
end

--- The folder of settings; nil without a home.
function paths.config() return directory("XDG_CONFIG_HOME", "/.config") end

--- The folder of what is remembered from run to run; nil without a home.
function paths.state() return directory("XDG_STATE_HOME", "/.local/state") end

--- The path with a home for a leading "~/", as a shell would have it.
function paths.expand(path) return (path:gsub("^~/", (os.getenv "HOME" or "~"):gsub("%%", "%%%%") .. "/")) end

--- A URL (string) without what may be secret: its user, its query and its fragment.
function paths.public_url(url)
  return (url:gsub("[?#].*", ""):gsub("^(%a[%w+.-]*://)[^/]*@", "%1"):gsub("^[^/]*@", ""):gsub("/+$", ""))
end

return paths
