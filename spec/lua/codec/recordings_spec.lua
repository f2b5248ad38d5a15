-- Recorded answers of real providers, whole and in small pieces, against what was read in them by hand (spec/expect).
-- The recordings are not part of the project: KOINE_RECORDINGS names the folder that holds them. Without it only the
-- expectations themselves are tested. Folders of wires that Koine does not speak are skipped, with a line that says so.

local core = require "koine.core"
local koine = require "koine"
local replay = require "spec.lua.codec.replay"

local directory = os.getenv "KOINE_RECORDINGS"

-- Whether a recording is that of a chat: what is asked for with GET is a list.
local function is_chat(folder, name)
  local file <close> = assert(io.open(("%s/%s/%s.json"):format(directory, folder, name), "rb"))
  return core.decode(file:read "a").request.method ~= "GET"
end

-- The names (without ".json") of the recordings of chats in a folder, sorted.
local function recordings(folder)
  local names = {}
  for file in require("lfs").dir(directory .. "/" .. folder) do
    local name = file:match "^(.*)%.json$"
    if name and is_chat(folder, name) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- Says on the standard error output which folders are not replayed here.
local function tell_skipped()
  local replayed, skipped = { ["copilot-models"] = true }, {} -- a list, no wire: provider/copilot/recordings_spec.lua
  for _, folder in ipairs(replay.folders) do replayed[folder] = true end
  for folder in require("lfs").dir(directory) do
    local is_folder = require("lfs").attributes(directory .. "/" .. folder, "mode") == "directory"
    local embeds = folder:find "%-embed" -- call/embed/recordings_spec.lua
    local is_ours = is_folder and not folder:find "^%."
    if is_ours and not replayed[folder] and not embeds then skipped[#skipped + 1] = folder end
  end
  table.sort(skipped)
  if #skipped == 0 then return end
  io.stderr:write("recordings: skipped, for want of their wires: ", table.concat(skipped, ", "), "\n")
end

describe("the expectations of recordings", function()
  it(directory and "are well-formed" or "load and are well-formed (set KOINE_RECORDINGS to replay the recordings)",
    function()
      for _, folder in ipairs(replay.folders) do assert.are.same({}, replay.problems(folder)) end
    end)
end)

if directory then
  tell_skipped()

  describe("a recording", function()
    local server

    setup(function() server = assert(koine.testing.start()) end)
    teardown(function() server:stop() end)

    for _, folder in ipairs(replay.folders) do
      local expectations, names = replay.expectations(folder), recordings(folder)

      it("exists for every expectation of " .. folder, function()
        local found = {}
        for _, name in ipairs(names) do found[name] = true end
        for name in pairs(expectations) do assert(found[name], folder .. "/" .. name .. ": no such recording") end
      end)

      for _, name in ipairs(names) do
        describe(folder .. "/" .. name, function()
          local recording = replay.load(directory, folder, name)
          local whole

          local function check(outcome)
            local expected = assert(expectations[name], "no expectation in spec/expect/" .. folder .. ".lua")
            replay.check(expected, outcome.response, outcome.err, outcome.deltas, outcome.origin)
          end

          it("is read as expected", function()
            whole = replay.run(server, recording)
            check(whole)
          end)

          it("is read the same in small pieces", function()
            local bytes = replay.run(server, recording, { fault = replay.in_pieces(recording) })
            check(bytes)
            replay.check_same(assert(whole, "the whole answer could not be replayed"), bytes)
          end)

          if not recording.streaming then
            it("is read the same where a stream was asked for", function()
              local streamed = replay.run(server, recording, { streaming = true })
              check(streamed)
              streamed.deltas = nil
              replay.check_same(assert(whole, "the whole answer could not be replayed"), streamed)
            end)
          end
        end)
      end
    end
  end)
end
