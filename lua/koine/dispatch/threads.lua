--- The threads of a dispatcher and their lanes, by platform, id and sender: nested tables, so that no two ids can be
-- confused whatever they contain. A thread is
--   platform, id, key   which it is; `key` is "platform:id", the name of its session
--   lanes               sender_id → lane; "" is the one lane where lanes are not of senders
--   ready               line of lanes that wait for the session
--   turn                the turn that has the session
--   due, following      it stands in line for the next step; the thread behind it
--   hooks, draining     the calls of hooks that wait; whether a coroutine is making them (hooks.lua)
--   forget              the session is to be forgotten once the turn has returned

local due = require "koine.dispatch.due"
local queue = require "koine.task.queue"
local lanes = require "koine.dispatch.lane"
local hooks = require "koine.dispatch.hooks"

local threads = {}

local function id_of(address) return address.thread_id or address.channel_id end

--- The name of the session of an address.
function threads.key(address) return address.platform .. ":" .. id_of(address) end

--- The thread of an address, or nil.
function threads.find(all, address)
  local platform = all[address.platform]
  return platform and platform[id_of(address)]
end

--- The thread of an address, made where there is none.
function threads.obtain(all, address)
  local platform, id = address.platform, id_of(address)
  all[platform] = all[platform] or {}
  local thread = all[platform][id]
  if not thread then
    thread = { platform = platform, id = id, key = threads.key(address), lanes = {}, ready = queue.line(),
      due = false, following = false }
    all[platform][id] = thread
  end
  return thread
end

--- The lane of a sender in the thread of an address, made where there is none.
function threads.obtain_lane(all, address, sender_id, now)
  local thread = threads.obtain(all, address)
  local lane = thread.lanes[sender_id]
  if not lane then
    lane = lanes.new(thread, sender_id, now)
    thread.lanes[sender_id] = lane
  end
  return lane
end

--- Forgets a thread without lanes, turn and hooks.
function threads.tidy(all, thread)
  if next(thread.lanes) or thread.turn or thread.draining or hooks.waits(thread) or thread.due then return end
  local platform = all[thread.platform]
  if platform and platform[thread.id] == thread then platform[thread.id] = nil end
end

--- Calls the hooks of a thread that wait, and forgets it where nothing else is left: the body of a coroutine.
function threads.call_hooks(dispatcher, thread)
  local ok, raised = pcall(hooks.drain, dispatcher, thread)
  if not ok then
    due.recover(dispatcher)
    error(raised, 0)
  end
  threads.tidy(dispatcher.threads, thread)
end

--- Every thread, an array.
function threads.list(all)
  local list = {}
  for _, platform in next, all do
    for _, thread in next, platform do list[#list + 1] = thread end
  end
  return list
end

--- The lanes of a thread, an array.
function threads.lanes(thread)
  local list = {}
  for _, lane in next, thread.lanes do list[#list + 1] = lane end
  return list
end

return threads
