-- frames.lua: chats in the frame loop of a game: 60 frames a second, of which Koine uses at most 2 ms each.
-- Usage: lua5.4 examples/frames.lua [provider/model]
local koine = require "koine"
local socket = require "socket"

local adapter = koine.adapter(arg[1] or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" })

local FRAME, BUDGET = 1 / 60, 2 -- seconds, milliseconds

-- Characters of the game are coroutines. Every frame resumes those that need not wait for Koine any longer: wake was
-- called with the token, or the time is over. Waking early does no harm.
local waiting, frame = {}, 0

koine.set_host {
  park = function(token, seconds)
    local waiter = { co = coroutine.running(), token = token, until_frame = seconds and frame + seconds / FRAME }
    waiting[#waiting + 1] = waiter
    coroutine.yield()
    return waiter.woken or false
  end,
  wake = function(token)
    for _, waiter in ipairs(waiting) do
      if waiter.token == token then waiter.woken = true end
    end
  end,
}

local function resume_due()
  local due, later = {}, {}
  for _, waiter in ipairs(waiting) do
    local is_due = waiter.woken or waiter.until_frame and waiter.until_frame <= frame
    local list = is_due and due or later
    list[#list + 1] = waiter
  end
  waiting = later
  for _, waiter in ipairs(due) do assert(coroutine.resume(waiter.co)) end
end

-- Two characters speak at once; the screen shows their text so far.
local speech = {}
for i, question in ipairs { "Greet a traveller.", "Warn a traveller." } do
  coroutine.wrap(function()
    speech[i] = ""
    for delta in adapter:stream(question) do speech[i] = speech[i] .. (delta.text or "") end
  end)()
end

local shown
local function draw()
  local screen = table.concat(speech, " | ")
  if screen ~= shown then print(("frame %d: %s"):format(frame, screen)) end
  shown = screen
end

while #waiting > 0 do
  frame = frame + 1
  koine.pump(0, { budget_ms = BUDGET })
  resume_due()
  draw()
  socket.sleep(FRAME) -- where a game waits for the screen
end
print("the end, after " .. frame .. " frames")
