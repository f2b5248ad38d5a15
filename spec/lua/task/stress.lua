--- Random programs of tasks, each from a fixed seed, and a model beside them that knows what must become of every
-- task and of every error. Time is counted, not waited for: a host turns the clock on.
--   scope  where errors of its tasks go to: {kind = "gather" | "timeout" | "run", run = the run's scope,
--          owner = the node that waits for it, nil for a run of plain Lua, nodes, gone = the owner left it,
--          first = the first error, late = the first error while the owner was being closed, at = when}
--   node   a task: {id, depth, scope, run = its run's scope, task, begun, closed, returned, raising = what it raises,
--          inside = the scope that it waits for, cancelled = by another one or itself, doomed = while it ran,
--          dismissed, fragile = closing it raises}

local generator = require "spec.support.generator"
local koine = require "koine"
local wait = require "koine.task.wait"

local stress = {}

local DEEPEST = 7  -- tasks within tasks
local FEWEST = 250 -- tasks that a run of plain Lua makes, if no error ends it

local methods = {}
methods.__index = methods

-- Keeps the first violation, with what is needed to see it again: what a task raises may not get far.
function methods:check(holds, what, node)
  if holds or self.broken then return end
  self.broken = ("seed %d%s: %s"):format(self.seed, node and ", task " .. node.id or "", what)
end

-- Writes down what happened: two runs of a seed must agree in all of it.
function methods:log(what, node)
  self.history = (self.history * 31 + node.id * 8 + what) & 0xFFFFFFFF
  self.count[what] = (self.count[what] or 0) + 1
end

local BEGUN, RETURNED, RAISED, CANCELLED, FRAGILE = 1, 2, 3, 4, 5

--- The counters of a schedule: each has to come up.
stress.KINDS = { BEGUN, RETURNED, RAISED, CANCELLED, FRAGILE, "runs", "failures" }

local function new_scope(kind, owner)
  local scope = { kind = kind, owner = owner, nodes = {} }
  scope.run = kind == "run" and scope or owner.run
  return scope
end

local function new_node(self, scope, depth)
  local node = { id = #self.nodes + 1, depth = depth, scope = scope, run = scope.run, closed = 0, returned = false,
    fragile = self.random(20) == 1 }
  self.nodes[node.id], scope.nodes[#scope.nodes + 1] = node, node
  return node
end

-- The end of a task -----------------------------------------------------------------------------------------------

-- An error of a task on its way to whom it belongs.
local function arrive(node, err)
  if node.dismissed then return end
  local scope = node.scope.gone and node.run or node.scope
  local slot = scope.owner and scope.owner.task.closing and "late" or "first"
  if scope[slot] then return end
  scope[slot], scope.at = err, wait.now()
end

local function new_error(node) return setmetatable({ from = node.id }, { __name = "error of task " .. node.id }) end

local act

-- The end of a task, as its first to-be-closed variable sees it.
local function close(self, node, err)
  node.closed = node.closed + 1
  self:check(node.closed == 1, "closed twice", node)
  if node.inside then -- cancelled there: no error of before may come up again, and none that came up may be lost
    self:check(rawequal(err, node.inside.late),
      ("cancelled in a %s, and closed with another error than came up in that"):format(node.inside.kind), node)
  else
    self:check(err == nil or rawequal(err, node.raising), "raised what is not its own", node)
  end
  self:log(node.returned and RETURNED or node.raising and RAISED or CANCELLED, node)
  if self.random(12) == 1 then act(self, node, "cancel") end
  if self.random(12) == 1 then act(self, node, "spawn") end
  if self.random(40) == 1 then koine.sleep(0) end
  if err == nil and node.fragile then
    self:log(FRAGILE, node)
    err = new_error(node)
    arrive(node, err)
    error(err, 0)
  end
  if err ~= nil then arrive(node, err) end
end

-- Whether the next wait of a task is its last: it was cancelled while it ran, or its run failed.
local function is_doomed(node) return node.doomed or node.run.first ~= nil end

-- A task goes on after a wait; `doomed` is what is_doomed said before that.
local function awake(self, node, doomed)
  self:check(node.closed == 0, "goes on though it was closed", node)
  self:check(not doomed, "goes on after a wait that was to be its last", node)
end

-- Has a task wait by calling f(…), in which no other code of the program runs in its place: what f returns.
local function pause(self, node, f, ...)
  local doomed = is_doomed(node)
  local result, err = f(...)
  awake(self, node, doomed or is_doomed(node))
  return result, err
end

-- The function of a task: what it does is up to f, or to chance.
local function body(self, node, f)
  return function()
    self:check(not node.begun and node.closed == 0, "begun twice", node)
    node.begun, node.task = true, wait.task()
    self:log(BEGUN, node)
    local mark <close> = setmetatable({}, { __close = function(_, err) close(self, node, err) end }) -- luacheck: ignore
    for _ = 1, f and 0 or self.random(4) do act(self, node) end
    if f then f() end
    node.returned = true
    return node.id
  end
end

-- The work of a task
-- ---------------------------------------------------------------------------------------------------

-- Waits for a scope by calling f(…): pcall's results. Whatever comes out must be what the scope was told first.
local function within(self, node, scope, f, ...)
  node.inside = scope
  local given, doomed = table.pack(...), is_doomed(node)
  local results = table.pack(pcall(function()
    local mark <close> = setmetatable({}, { __close = function() scope.gone = true end }) -- luacheck: ignore
    return f(table.unpack(given, 1, given.n))
  end))
  node.inside = nil
  if scope.kind ~= "run" then awake(self, node, doomed) end -- a run whose tasks never waited did not wait either
  if results[1] then
    self:check(scope.first == nil, "an error in a " .. scope.kind .. " was lost", node)
  else
    self:check(rawequal(results[2], scope.first), "a " .. scope.kind .. " raised what is not its own", node)
    self:check(scope.at == wait.now(), "a " .. scope.kind .. " went on after it had failed", node)
  end
  for _, one in ipairs(scope.nodes) do
    self:check(one.closed == (one.begun and 1 or 0), "a " .. scope.kind .. " left task " .. one.id .. " behind", node)
  end
  if not results[1] and self.random(3) == 1 then
    node.raising = results[2]
    error(results[2], 0)
  end
  return results
end

local acts = {}

function acts.sleep(self, node) pause(self, node, koine.sleep, self.random(6) / 1000 - 0.001) end

function acts.yield(self, node) pause(self, node, coroutine.yield) end

function acts.spawn(self, node)
  if node.depth == DEEPEST or node.run.gone then return end
  local child = new_node(self, node.run, node.depth + 1)
  local ok, task = pcall(koine.spawn, body(self, child))
  self:check(ok or task.class == "ArgumentError", "spawn fails", node)
  child.task, child.refused = ok and task or nil, not ok
end

-- koine.gather of a list, with a limit: the results as of arguments. Raises what is wrong with their number.
local function gather_some(functions, limit)
  local running, list = 0, { limit = limit }
  for i, f in ipairs(functions) do
    list[i] = function()
      running = running + 1
      local mark <close> = setmetatable({}, { __close = function() running = running - 1 end }) -- luacheck: ignore
      if running > limit then error "more than the limit run" end
      return f()
    end
  end
  local results = koine.gather(list)
  if results.n ~= #functions or running ~= 0 then error "a list was gathered in part" end
  return table.unpack(results, 1, results.n)
end

function acts.gather(self, node)
  if node.depth == DEEPEST then return end
  local scope, functions = new_scope("gather", node), {}
  for i = 1, self.random(5) do functions[i] = body(self, new_node(self, scope, node.depth + 1)) end
  local results
  if self.random(2) == 1 then
    results = within(self, node, scope, koine.gather, table.unpack(functions))
  else
    results = within(self, node, scope, gather_some, functions, self.random(3))
  end
  for i, child in ipairs(results[1] and scope.nodes or {}) do
    local result = results[i + 1]
    self:check(result == child.id or result == nil, "gather mixed its results up", node)
    self:check((result ~= nil) == child.returned or child.cancelled, "gather lost a result", node)
  end
end

function acts.timeout(self, node)
  if node.depth == DEEPEST then return end
  local scope = new_scope("timeout", node)
  local child = new_node(self, scope, node.depth + 1)
  local results = within(self, node, scope, koine.timeout, self.random(8) / 1000, body(self, child))
  if results[1] and results[2] == nil then
    self:check(results[3].kind == "timeout" or child.cancelled or child.dismissed, "no reason", node)
  elseif results[1] then
    self:check(results[2] == child.id and child.returned, "timeout gave another one's result", node)
  end
end

function acts.run(self, node)
  if node.depth == DEEPEST then return end
  local scope = new_scope("run", node)
  within(self, node, scope, koine.run, body(self, new_node(self, scope, node.depth + 1)))
end

function acts.raise(self, node)
  if self.random(node.scope.kind == "run" and 12 or 2) > 1 then return end
  node.raising = new_error(node)
  error(node.raising, 0)
end

-- A task to interfere with: mostly one of the latest.
local function pick(self)
  local last = #self.nodes
  local node = self.nodes[math.max(1, last - self.random(40) + 1)]
  return node.task and node or nil
end

function acts.cancel(self, node)
  local other = pick(self)
  if not other then return end
  local task, how = other.task, self.random(4) == 1 and "dismiss" or "cancel"
  local suspended, over = coroutine.status(task.co) == "suspended", task.done or task.closing
  if how == "dismiss" and not task.done then other.dismissed = true end
  local ok, said = pcall(task[how], task)
  self:check(ok, how .. " raised: " .. tostring(said), node)
  self:check(said == not over, how .. " said " .. tostring(said), node)
  if over then return end
  other.cancelled = true
  if not suspended then
    other.doomed = true
    return
  end
  self:check(task.done and other.closed == (other.begun and 1 or 0), how .. " did not close task " .. other.id, node)
end

function acts.wait(self, node)
  local other = pick(self)
  if not other then return end
  local id, err = pause(self, node, koine.timeout, self.random(8) / 1000, other.task.wait, other.task)
  self:check(id == nil and err ~= nil or id == other.id and other.returned, "wait gave another one's result", node)
end

-- A coroutine of the task's own, where Koine blocks.
function acts.generate()
  for _ in coroutine.wrap(function()
    koine.sleep(0)
    coroutine.yield(1)
  end) do koine.sleep(0) end
end

local OFTEN = { "sleep", "sleep", "sleep", "yield", "spawn", "spawn", "spawn", "gather", "gather", "timeout", "timeout",
  "run", "raise", "cancel", "cancel", "wait" }

function act(self, node, what)
  if not what then what = self.random(60) == 1 and "generate" or OFTEN[self.random(#OFTEN)] end
  acts[what](self, node)
end

-- Running -----------------------------------------------------------------------------------------------------------

-- One koine.run of plain Lua, to its end.
local function run(self)
  local scope, from = new_scope "run", #self.nodes + 1
  local main = new_node(self, scope, 0)
  local ok, result = pcall(koine.run, body(self, main, function()
    while #self.nodes - from < FEWEST do
      acts.spawn(self, main)
      acts.sleep(self, main)
    end
  end))
  scope.gone = true
  if ok then
    self:check(scope.first == nil and (result == main.id or not main.returned), "a run lost an error", main)
  else
    self:check(rawequal(result, scope.first), "a run raised what is not its own: " .. tostring(result), main)
  end
  self.count.runs = self.count.runs + 1
  self.count.failures = self.count.failures + (ok and 0 or 1)
  for i = from, #self.nodes do
    local node = self.nodes[i]
    self:check(not node.task or node.task.done, "lost: it never ended", node)
    self:check(node.closed == (node.begun and 1 or 0), "left open", node)
  end
  local inner = main.task.run
  self:check(inner.alive == 0 and not inner.oldest and not inner.outsider, "tasks are left in the run", main)
end

--- Makes at least `tasks` tasks from the seed: {broken = the first violation in words, nil for none; history = a number
-- that two runs of a seed share; count}.
function stress.play(seed, tasks)
  local self = setmetatable({ seed = seed, random = generator(seed), nodes = {}, history = 0,
    count = { runs = 0, failures = 0 } }, methods)
  local now, clock = wait.now, 0
  wait.now = function() return clock end
  wait.set_host { wake = function() end, park = function(_, seconds)
    self:check(seconds, "nobody will ever go on")
    if not seconds then error("nobody will ever go on", 0) end
    clock = clock + seconds
    return false
  end }
  local ok, err = pcall(function()
    while #self.nodes < tasks and not self.broken do run(self) end
  end)
  wait.set_host(nil)
  wait.now = now
  self:check(ok, tostring(err))
  return self
end

return stress
