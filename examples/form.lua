-- form.lua: a form that fills in while the model reads a letter. Each output_delta has the value so far; the last one
-- is judged by the schema.
-- Usage: lua5.4 examples/form.lua [FILE] [PROVIDER/MODEL]
local koine = require "koine"

local LETTER = [[
Dear Sir or Madam, on 3 May your shop sent me a kettle (order 4711) that does not boil. Please send me another one.
Kind regards, Grace Hopper, 5 Harbour Street, Arlington]]

local letter = arg[1] and assert(koine.files.read(arg[1])) or LETTER
local adapter = koine.adapter(arg[2] or "openai/gpt-4.1", { base_url = os.getenv "KOINE_BASE_URL" })
local shape = koine.schema.parse "sender, street, city, order? int, wants refund|replacement|repair|other, summary"
local fields = shape.propertyOrdering

local drawn = false
local function draw(form)
  if drawn then io.write("\27[", #fields, "A") end -- back to the first line
  drawn = true
  for _, field in ipairs(fields) do
    local text = form[field] == nil and "" or tostring(form[field]):gsub("%c", " ")
    io.write(("\27[K%-8s %s\n"):format(field, text))
  end
  io.flush()
end

draw {}
local stream <close> = assert(adapter:open("Fill in the form for this letter:\n\n" .. letter,
  { output = { schema = shape, repair = 1 } }))
for delta in stream:deltas() do
  if delta.type == "output_delta" then draw(delta.value) end
  if delta.type == "output_reset" then draw {} end -- the first answer had another shape: here comes the second
end
local response = assert(stream:response())
if response.output_error then error("the form is not complete: " .. response.output_error.message, 0) end
print(("[%s, %d tokens out]"):format(response.model, response.usage.output_tokens))
