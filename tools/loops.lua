-- loops.lua: Lua 5.5 compiles no assignment to the first variable of a for loop, which 5.4 allows. Here that becomes a
-- constant in the loop's body, so that 5.4 refuses the same.
-- Usage: lua5.4 tools/loops.lua   (from the project's root)

local source = dofile "tools/source.lua"

local WHERE = "lua bin examples spec tools bench \\( -name '*.lua' -o -path bin/koine \\)"
local FOR, DO, NAME = "%f[%w_]for%f[^%w_]", "%f[%w_]do%f[^%w_]", "([%a_][%w_]*)()"

-- The first variable of the loop whose `for` is at byte `at`, and where the names end; nil where it is no loop.
local function variable(code, at)
  local first, after = code:match("^for%s+" .. NAME, at)
  local name = first
  while name do
    at = after
    name, after = code:match("^%s*,%s*" .. NAME, at)
  end
  if first and (code:find("^%s*=", at) or code:find("^%s+in%f[^%w_]", at)) then return first, at end
end

-- The code with `local NAME <const> = NAME` for it at the start of each loop's body.
local function with_constants(code)
  local out, done, at = {}, 1, code:find(FOR)
  while at do
    local name, after = variable(code, at)
    local _, last = code:find(DO, after or #code + 1)
    if last then
      out[#out + 1] = ("%s local %s <const> = %s;"):format(code:sub(done, last), name, name)
      done = last + 1
    end
    at = code:find(FOR, last or at + 1)
  end
  return table.concat(out) .. code:sub(done)
end

local problems = 0
for _, path in ipairs(source.find(WHERE)) do
  local made, problem = load(with_constants((source.read(path):gsub("^#[^\n]*", ""))), "@" .. path)
  if not made then
    problems = problems + 1
    print(problem)
  end
end
if problems > 0 then
  print(("loops: %d files have a loop that assigns to its first variable"):format(problems))
  os.exit(1)
end
print "loops: no loop assigns to its first variable"
