---@meta _
-- Stores and rate limiters: state that outlives a process or that several share.

---@class koine
local koine = {}

---Values, leases, buckets and queues behind one interface. Every method may wait; trouble is nil and the error, of kind
---`connect`, `timeout` (a write may have happened), `auth`, `permission`, `limit`, `overloaded`, `protocol`, `cancelled`
---or `other`. Keys, owners, queues and ids are strings of 1 to 512 bytes without NUL. Wrong arguments raise an
---ArgumentError.
---@class koine.Store
local Store = {}

---Reads a value.
---@param key string
---@return string? value nil without an error where there is none
---@return any version an opaque string; with nil the error, if any
function Store:get(key) end

---Options of put.
---@class koine.PutOptions
---@field if_version? string a version, or `"absent"`
---@field ttl? number seconds
---@field fence? { [1]: string, [2]: integer } key of a lease and its newest fence

---Writes a value, under a condition if one is given. A fence counts if it is the newest that was handed out for its key,
---whether its lease lives or not. A value of more than 16 MiB is an error of kind `limit`.
---@param key string
---@param value string at most 16 MiB
---@param options? koine.PutOptions
---@return string|false|nil version false where a condition failed
---@return any current with false the version there is; with nil the error
function Store:put(key, value, options) end

---Options of delete.
---@class koine.DeleteOptions
---@field if_version? string

---Removes a value.
---@param key string
---@param options? koine.DeleteOptions
---@return boolean? deleted true, also where there is none; false for another version
---@return koine.Error err with nil
function Store:delete(key, options) end

---Options of list.
---@class koine.ListOptions
---@field after? string
---@field limit? integer from 1 to 10000; 1000

---Lists the keys of values, page by page, sorted by bytes. Keys that come or go meanwhile may be in it or not.
---@param prefix string
---@param options? koine.ListOptions
---@return string[]? keys sorted
---@return any after what to give as `after` for the next page; with nil the error
function Store:list(prefix, options) end

---Gets or renews a lease. The fence is greater than every one of that key before; the owner of a lease that lives gets
---the same one, and the time anew.
---@param key string
---@param owner string
---@param ttl number seconds
---@return integer|false|nil fence false where another owner has it
---@return any left with false the seconds that are left; with nil the error
function Store:lease(key, owner, ttl) end

---Gives a lease back.
---@param key string
---@param owner string
---@return true? ok nil without an error where another owner has it
---@return koine.Error err
function Store:release(key, owner) end

---Options of take.
---@class koine.TakeOptions
---@field capacity number tokens that the bucket holds
---@field per number tokens that it gains a second
---@field cost? number of one; 1
---@field force? boolean takes in any case
---@field block? number seconds in which nothing is granted; 0

---Takes n times `cost` tokens out of a bucket that is full at first. With `force` it takes in any case, also a negative
---number, and the bucket may go below zero.
---@param key string
---@param n number
---@param options koine.TakeOptions
---@return number? seconds 0: granted; else to wait, and nothing was taken
---@return koine.Error err
function Store:take(key, n, options) end

---Options of push.
---@class koine.PushOptions
---@field id? string a repeated one within 24 hours adds nothing

---Adds an item to a queue.
---@param queue string
---@param item string at most 16 MiB
---@param options? koine.PushOptions
---@return integer? sequence
---@return koine.Error err
function Store:push(queue, item, options) end

---An item of a queue.
---@class koine.QueueItem
---@field seq integer
---@field item string
---@field tries integer how often it was claimed
---@field at number Unix seconds of the push

---Options of claim.
---@class koine.ClaimOptions
---@field queues? string prefix of their names; `""`

---Leases the queue that has been ready longest, and returns its first items, at most 100. A queue is ready while it has
---items, nobody holds a lease on its name, and no unclaim defers it. `lease(queue, owner, ttl)` renews the claim.
---@param owner string
---@param ttl number seconds
---@param options? koine.ClaimOptions
---@return string? queue nil without an error where none is ready
---@return any fence an integer; with nil the error, if any
---@return koine.QueueItem[] items
function Store:claim(owner, ttl, options) end

---Takes items that are done out of a queue that was claimed. The queue stays leased.
---@param queue string
---@param owner string
---@param fence integer
---@param seq integer the items up to it are gone
---@return boolean? ok false where the fence is not the newest
---@return koine.Error err with nil
function Store:ack(queue, owner, fence, seq) end

---Options of unclaim.
---@class koine.UnclaimOptions
---@field after? number seconds until it is ready again; 0

---Gives a queue back that was claimed; what is left in it is ready after `after` seconds.
---@param queue string
---@param owner string
---@param fence integer
---@param options? koine.UnclaimOptions
---@return boolean? ok false where the fence is not the newest
---@return koine.Error err with nil
function Store:unclaim(queue, owner, fence, options) end

---Waits until something may be new. A hint: look again every second or so in any case.
---@param prefix string
---@param seconds number
---@return boolean? news
---@return koine.Error err with nil
function Store:watch(prefix, seconds) end

---What a store promises.
---@class koine.StoreFacts
---@field name string
---@field version string
---@field durable "memory"|"process"|"machine"|"replicated" what a write survives
---@field clock "process"|"machine"|"server"|"given"
---@field warnings string[]

---Tells what the store promises.
---@return koine.StoreFacts? facts
---@return koine.Error err
function Store:describe() end

---Closes the store.
---@return true ok waits and later calls then return nil and the error
function Store:close() end

---Stores, each loaded on first use.
---@class koine.store
koine.store = {}

---Options of koine.store.memory.
---@class koine.MemoryOptions
---@field clock? fun(): number seconds; for tests
---@field same_as? koine.Store another handle onto the same contents

---For one process, and tests.
---@param options koine.MemoryOptions
---@return koine.Store store
function koine.store.memory(options) end

---Options of koine.store.file.
---@class koine.FileStoreOptions
---@field dir string
---@field timeout? number seconds for an operation; 30
---@field clock? fun(): number Unix seconds; for tests

---For all processes of one machine.
---@param options koine.FileStoreOptions
---@return koine.Store? store
---@return koine.Error err
function koine.store.file(options) end

---Options of koine.store.redis.
---@class koine.RedisOptions
---@field url string `redis://[[user]:password@]host[:port][/db]`, `rediss://` or `unix://`
---@field user? string
---@field password? string
---@field db? integer
---@field ca_file? string certificates to trust; the system's
---@field prefix? string of all keys; `"koine:"`
---@field timeout? number seconds for an operation; 5
---@field pool? integer connections; 4
---@field durable? string what `describe` says
---@field on_warning? fun(message: string)

---A Redis server, for many machines.
---@param options koine.RedisOptions
---@return koine.Store store
function koine.store.redis(options) end

---Options of koine.store.sql.
---@class koine.SqlOptions
---@field dialect "sqlite"|"postgres"
---@field connect? string|(fun(): any, any) text for LuaSQL, or a function that returns a connection, or nil and why
---@field query? fun(sql: string): table[]?, any in place of `connect`
---@field blocking? boolean true: you know that operations block the thread; false
---@field on_warning? fun(message: string) default: Lua's `warn`

---A database: SQLite, or PostgreSQL for many machines. Makes no tables: see koine.store.schema.
---@param options koine.SqlOptions
---@return koine.Store store
function koine.store.sql(options) end

---The SQL text that makes the tables.
---@param dialect "sqlite"|"postgres"
---@return string sql
function koine.store.schema(dialect) end

---A store of an engine of your own: an object with all operations. docs/stores.md says what they must promise.
---@param operations table|userdata
---@return koine.Store store
function koine.store.engine(operations) end

-- Rate limiters ------------------------------------------------------------------------------------------------------

---Limits requests of all processes that share a file.
---@class koine.FileLimiterOptions
---@field rate_limit_path? string the file; required unless neither limit is set
---@field min_request_interval? number seconds between two requests; 0
---@field rate_limit? { requests: integer, period: number } so many in so many seconds

---Limits requests of all processes that share a store.
---@class koine.StoreLimiterOptions
---@field store koine.Store
---@field key string the bucket's name
---@field capacity number tokens that the bucket holds
---@field per number tokens that it gains a second
---@field cost? number|fun(request: table): number tokens of a request; 1
---@field on_error? "allow"|"refuse" while the store cannot be used; `"allow"`
---@field on_warning? fun(err: koine.Error) at most once a minute

---A limiter on a file.
---@class koine.RateLimiter: koine.RateLimiterObject
local RateLimiter = {}

---Sleeps until a request may start.
---@param seconds? number the longest wait; no limit
---@return true? ok
---@return any time Unix seconds at which it was entered; with nil the error
function RateLimiter:wait(seconds) end

---A limiter on a store.
---@class koine.StoreLimiter: koine.RateLimiter
---@field key string
local StoreLimiter = {}

---Takes the tokens of a request, after sleeping as long as needed.
---@param seconds? number the longest wait; no limit
---@param request? table
---@return true? ok
---@return koine.Error err
function StoreLimiter:wait(seconds, request) end

---Takes so many tokens more, or gives them back if negative.
---@param key string? nil: the limiter's own
---@param difference number
---@return true? ok
---@return koine.Error err
function StoreLimiter:settle(key, difference) end

---Lets no request go for so long, on any machine: what `retry-after` asks for. Adapters call it.
---@param key string? nil: the limiter's own
---@param seconds number
---@return true? ok
---@return koine.Error err
function StoreLimiter:block(key, seconds) end

---Makes a rate limiter, for the option `rate_limiter` of adapters.
---@param options koine.FileLimiterOptions
---@return koine.RateLimiter limiter
---@overload fun(options: koine.StoreLimiterOptions): koine.StoreLimiter
function koine.rate_limiter(options) end
