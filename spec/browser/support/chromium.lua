-- Chromium without a window, for specs of pages: one program, spoken to over its DevTools pipe (descriptors 3 and 4,
-- JSON that ends with NUL, which becomes LF here). It ends with the object. What goes wrong raises; an answer that does
-- not come is an error of kind "timeout".

local core = require "koine.core"
local folder = require "spec.support.folder"
local koine = require "koine"

local chromium = {}

local ANSWER_MAX <const> = 30 -- seconds; a safety net only

-- Descriptor 3 is what Chromium reads, 4 what it writes.
local COMMAND <const> = [[{ "$@" 3<&0 4>&1 >&2; } | stdbuf -o0 tr '\0' '\n']]
local FLAGS <const> = { "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
  "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars",
  "--enable-precise-memory-info", "--remote-debugging-pipe" }

local methods = {}
local browser_mt = { __index = methods, __name = "chromium" }

-- The next message: an answer, or an event, which is kept.
local function receive(self)
  local line, err = koine.timeout(ANSWER_MAX, function() return self.program:line() end)
  if not line then error("Chromium says nothing: " .. tostring(err), 0) end
  local message = assert(core.decode(line))
  if message.method then self.events[#self.events + 1] = message end
  return message
end

--- Calls a method of the DevTools protocol: its result.
function methods:call(method, params)
  self.last = self.last + 1
  local request = { id = self.last, method = method, params = params, sessionId = self.session }
  assert(self.program:write(core.encode(request) .. "\0"))
  while true do
    local message = receive(self)
    if message.id == self.last then
      if message.error then error(method .. ": " .. message.error.message, 0) end
      return message.result
    end
  end
end

--- Waits for an event of this name that came after the last `open`: its parameters.
function methods:await(name)
  local seen = 0
  while true do
    while seen < #self.events do
      seen = seen + 1
      if self.events[seen].method == name then return self.events[seen].params end
    end
    receive(self)
  end
end

--- The parameters of the events of this name since the last `open`.
function methods:all(name)
  local list = {}
  for _, event in ipairs(self.events) do
    if event.method == name then list[#list + 1] = event.params end
  end
  return list
end

--- What an expression (or a promise) of JavaScript is in the page.
function methods:eval(expression)
  local answer = self:call("Runtime.evaluate", { expression = expression, returnByValue = true, awaitPromise = true })
  local problem = answer.exceptionDetails
  if problem then error(expression .. ": " .. tostring((problem.exception or problem).description), 0) end
  return answer.result.value
end

--- Waits until an expression is true. The page looks at it before each frame.
function methods:until_true(expression)
  self:eval(("new Promise((ok) => { const look = () => (%s) ? ok() : requestAnimationFrame(look); look(); })")
    :format(expression))
end

--- Opens an address in place of the page before, and waits until it has been loaded.
function methods:open(url)
  for _, address in ipairs { "about:blank", url } do
    self.events = {}
    self:call("Page.navigate", { url = address })
    self:await "Page.loadEventFired"
  end
end

local CODES <const> = { Enter = 13, Escape = 27, End = 35, Home = 36, ArrowLeft = 37, ArrowUp = 38, ArrowRight = 39,
  ArrowDown = 40, Tab = 9, PageDown = 34, PageUp = 33 }

--- Presses keys, by their names in JavaScript.
function methods:press(...)
  for _, key in ipairs { ... } do
    local code = CODES[key]
    local params = { type = code and "rawKeyDown" or "keyDown", key = key, windowsVirtualKeyCode = code,
      text = not code and key or nil }
    self:call("Input.dispatchKeyEvent", params)
    self:call("Input.dispatchKeyEvent", { type = "keyUp", key = key, windowsVirtualKeyCode = code })
  end
end

--- Types text where the focus is.
function methods:type(text) self:call("Input.insertText", { text = text }) end

--- Clicks on the middle of the first element of a CSS selector, which is scrolled to where it is seen.
function methods:click(selector)
  local place = self:eval(("(() => { const e = document.querySelector(%s); e.scrollIntoView({block: 'nearest'}); " ..
    "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
    :format(core.encode(selector)))
  for _, type in ipairs { "mousePressed", "mouseReleased" } do
    self:call("Input.dispatchMouseEvent",
      { type = type, x = place[1], y = place[2], button = "left", clickCount = 1 })
  end
end

--- The width and height of the window in pixels, and "light" or "dark".
function methods:screen(width, height, scheme)
  self:call("Emulation.setDeviceMetricsOverride",
    { width = width, height = height, deviceScaleFactor = 1, mobile = false })
  self:call("Emulation.setEmulatedMedia", { features = { { name = "prefers-color-scheme", value = scheme } } })
end

--- Writes what is seen to a PNG file, where KOINE_SHOTS names a folder.
function methods:shot(name)
  local to = os.getenv "KOINE_SHOTS"
  if not to then return end
  local file <close> = assert(io.open(to .. "/" .. name .. ".png", "wb"))
  file:write(core.base64_decode(self:call "Page.captureScreenshot".data))
end

--- The most memory that the page's process had, in bytes.
function methods:peak()
  local session = self.session
  self.session = nil -- a question to the browser itself
  local processes = self:call "SystemInfo.getProcessInfo".processInfo
  self.session = session
  local peak = 0
  for _, process in ipairs(processes) do
    local status <close> = process.type == "renderer" and io.open(("/proc/%d/status"):format(process.id)) or nil
    local kilobytes = status and status:read "a":match "VmHWM:%s*(%d+)"
    peak = math.max(peak, (tonumber(kilobytes) or 0) * 1024)
  end
  return peak
end

--- Ends the browser and removes its profile.
function methods:close()
  self.program:close()
  folder.remove(self.profile)
end
browser_mt.__close = methods.close

-- Before each page's own script: what breaks its policy is kept.
local WATCH <const> = [[window.violations = []; addEventListener("securitypolicyviolation",
  (e) => window.violations.push(e.violatedDirective + " " + e.blockedURI));]]

--- Starts it, with an empty page.
function chromium.start()
  local profile = folder.new()
  local argv = { "sh", "-c", COMMAND, "sh", "chromium" }
  for _, flag in ipairs(FLAGS) do argv[#argv + 1] = flag end
  argv[#argv + 1] = "--user-data-dir=" .. profile
  argv[#argv + 1] = "about:blank"
  local program = assert(koine.process.open(argv, { grace = 1 }))
  local self = setmetatable({ program = program, profile = profile, last = 0, events = {} }, browser_mt)
  for _, target in ipairs(self:call "Target.getTargets".targetInfos) do
    if target.type == "page" then
      self.session = self:call("Target.attachToTarget", { targetId = target.targetId, flatten = true }).sessionId
    end
  end
  for _, domain in ipairs { "Page", "Runtime", "Network", "Log" } do self:call(domain .. ".enable") end
  self:call("Page.addScriptToEvaluateOnNewDocument", { source = WATCH })
  return self
end

return chromium
