-- A real git repository in a temporary folder, for specs: made by git, looked at by the code under test.

local koine = require "koine"
local lfs = require "lfs"

local repository = {}
local methods = {}
local metatable = { __index = methods }

local function quote(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

--- A path for the shell.
repository.quote = quote

--- A new empty folder below the system's temporary one; ends without a slash.
repository.folder = require("spec.support.folder").new

-- The output of a shell command; raises when it fails.
local function output_of(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read "a"
  assert(pipe:close(), command .. ": " .. text)
  return text
end

local function git(directory, ...)
  local words = { "env -i GIT_CONFIG_GLOBAL=/dev/null HOME=/nonexistent", "PATH=" .. quote(os.getenv "PATH"),
    "git -C", quote(directory), "-c user.name=Koine -c user.email=koine@example.org -c init.defaultBranch=main",
    "-c protocol.file.allow=always -c advice.detachedHead=false" }
  for _, word in ipairs { ... } do words[#words + 1] = quote(word) end
  return output_of(table.concat(words, " "))
end

--- git in the repository's folder: what it prints; raises when it fails.
function methods:git(...) return git(self.dir, ...) end

--- git in a folder below.
function methods:git_in(folder, ...) return git(self.dir .. "/" .. folder, ...) end

--- Writes a file, making the folders above it.
function methods:write(path, text)
  local at = 1
  while path:find("/", at, true) do
    local slash = path:find("/", at, true)
    lfs.mkdir(self.dir .. "/" .. path:sub(1, slash - 1))
    at = slash + 1
  end
  local file <close> = assert(io.open(self.dir .. "/" .. path, "wb"))
  assert(file:write(text))
end

--- A file's bytes, nil when there is none.
function methods:read(path)
  local file <close> = io.open(self.dir .. "/" .. path, "rb")
  return file and file:read "a"
end

--- Removes a file.
function methods:remove(path) assert(os.remove(self.dir .. "/" .. path)) end

--- Everything as it is into one commit.
function methods:commit(message)
  self:git("add", "-A")
  self:git("commit", "--quiet", "--allow-empty", "-m", message or "commit")
end

--- Returns the result of koine.artifacts.compare for a folder, the repository's own by default, after `change` has done
-- its work.
function methods:changed(change, opts, workdir)
  local before = assert(koine.artifacts.snapshot(workdir or self.dir))
  change()
  return koine.artifacts.compare(before, opts)
end

--- Removes the folder and what is in it.
function methods:close() os.execute("chmod -R u+w " .. quote(self.dir) .. "; rm -rf " .. quote(self.dir)) end

metatable.__close = methods.close

--- The repository in a folder (a new one without it), made by git init.
function repository.new(dir)
  local made = setmetatable({ dir = dir or repository.folder() }, metatable)
  made:git("init", "--quiet")
  return made
end

--- A repository with files (path → text), committed.
function repository.with(files)
  local made = repository.new()
  for path, text in pairs(files) do made:write(path, text) end
  made:commit()
  return made
end

return repository
