---@meta _
-- Tasks and hosts: many conversations in one thread, and Koine inside another event loop.

---@class koine
local koine = {}

---Runs `f(…)` and every task that it starts, until all have ended. While one waits in Koine, the others run. When one
---raises, the others are cancelled and the error is raised, with the task's traceback.
---@param f fun(...): ...
---@param ... any
---@return any result the results of `f`
---@return any ...
function koine.run(f, ...) end

---Starts another task of the run. Raises an ArgumentError outside of `koine.run`.
---@param f fun(...): ...
---@param ... any
---@return koine.Task task
function koine.spawn(f, ...) end

---Functions for `koine.gather`, and how many may run at once.
---@class koine.Work
---@field [integer] fun(): ...
---@field limit? integer default: all

---Runs functions at once: the first result of each, in their order; of a list a table of them, with `n`. When one
---raises, the others are cancelled and the error is raised.
---@param first koine.Work|fun(): ...
---@param ... fun(): ...
---@return any result
---@return any ...
function koine.gather(first, ...) end

---Runs `f(…)` and cancels it when the time is over. It cannot interrupt code that computes without waiting.
---@param seconds number
---@param f fun(...): ...
---@param ... any
---@return any result the results of `f`; nil when the time is over
---@return any ... further results, or the error, of kind `timeout`
function koine.timeout(seconds, f, ...) end

---Sleeps; 0 lets the others run.
---@param seconds number
---@return true? ok
---@return koine.Error err where a host cancelled the caller
function koine.sleep(seconds) end

---A task of `koine.run`. `<close>` cancels it.
---@class koine.Task
local Task = {}

---Waits for the task and returns its function's results.
---@return any result
---@return any ... with nil the error: a CancelledError if it was cancelled
function Task:wait() end

---Ends the task at once.
---@return boolean ended false if it had ended
function Task:cancel() end

---Ends the task at once, and drops errors of its to-be-closed variables.
---@return boolean ended
function Task:dismiss() end

-- Waiting for something else -----------------------------------------------------------------------------------------

---Suspends the caller until the token is woken: in a task it yields, in a host it suspends the coroutine, elsewhere it
---blocks. It may wake early: check again.
---@param token table any table of yours
---@param seconds? number no limit
---@return boolean? woken false when the time is over
---@return koine.Error err with nil: the caller was cancelled
function koine.park(token, seconds) end

---Wakes the coroutine that waits for the token, if there is one.
---@param token table
function koine.wake(token) end

---The same as park, but blocks the thread wherever it is called.
---@param token table
---@param seconds? number no limit
---@return boolean? woken
---@return koine.Error err
function koine.block(token, seconds) end

-- Event loops --------------------------------------------------------------------------------------------------------

---A loop's halves of waiting.
---@class koine.Host
---@field park fun(token: any, seconds?: number): boolean?, koine.Error? suspends the running coroutine
---@field wake fun(token: any) resumes the one that waits for the token
---@field suspends? fun(): boolean whether park would suspend the running coroutine, and not block

---Installs the functions for waiting; nil goes back to plain Lua. Raises an ArgumentError while another host is there.
---@param host? koine.Host
function koine.set_host(host) end

---Options of koine.pump.
---@class koine.PumpOptions
---@field budget_ms? number bounds the work, in milliseconds

---Steps the engine for at most that long and wakes what became ready.
---@param seconds? number 0: what is ready now; nil: until an event
---@param opts? koine.PumpOptions
function koine.pump(seconds, opts) end

---The engine of this Lua state.
---@return koine.Engine engine
function koine.engine() end

---What an event loop watches.
---@class koine.Engine
local Engine = {}

---The descriptor to watch.
---@return integer descriptor readable when there is work; the same for the life of the state
function Engine:pollfd() end

---What to watch the descriptor for.
---@return string events `"r"`
function Engine:events() end

---How long a loop may sleep. Ask again before every sleep.
---@return number? seconds until it must be stepped though the descriptor is silent; nil: never
function Engine:timeout() end

---Works for at most that long. Hosts call koine.pump instead.
---@param seconds? number
---@param opts? koine.PumpOptions
---@return table tokens what became ready
function Engine:step(seconds, opts) end

---A host for one event loop.
---@class koine.InstalledHost
---@field install fun() from now on waits suspend the coroutines of that loop
---@field uninstall fun() back to plain Lua

---Hosts for other people's event loops, each loaded on first use.
---@class koine.hosts
---@field cqueues koine.InstalledHost coroutines of a cqueues controller
---@field luv koine.InstalledHost coroutines under libuv's loop
koine.hosts = {}

---A loop on select, for programs with descriptors and no event loop. Needs luasocket.
---@class koine.hosts.poll: koine.InstalledHost
koine.hosts.poll = {}

---From now on waits suspend the coroutines of `spawn`.
function koine.hosts.poll.install() end

---Back to plain Lua. Raises an ArgumentError while a coroutine waits.
function koine.hosts.poll.uninstall() end

---Runs `f(…)` as a coroutine, from the next step on.
---@param f fun(...): ...
---@param ... any
function koine.hosts.poll.spawn(f, ...) end

---Waits until an object can be read or written.
---@param object table|userdata a socket of luasocket, or an object with `getfd` and `dirty`
---@param mode "r"|"w"
---@param seconds? number no limit
---@return boolean ready false when the time is over
function koine.hosts.poll.await(object, mode, seconds) end

---One turn of the loop.
---@param seconds? number sleeps at most so long
function koine.hosts.poll.step(seconds) end

---Runs until every coroutine has ended.
function koine.hosts.poll.run() end
