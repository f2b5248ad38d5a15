--- The script of the page of records (page/init.lua), put together from its parts: each of them may use what the ones
-- before it define. It keeps the rows that can be seen in the document and no others, reads the records of some spans
-- when one of them is looked at, and writes text by textContent alone.

local parts = {
  require "koine.observe.page.script.words",
  require "koine.observe.page.script.store",
  require "koine.observe.page.script.list",
  require "koine.observe.page.script.contents",
  require "koine.observe.page.script.detail",
  require "koine.observe.page.script.filter",
  (require "koine.observe.page.script.keys"),
}

return '"use strict";\n(() => {\n' .. table.concat(parts, "\n") .. "})();\n"
