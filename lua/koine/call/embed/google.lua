--- Tells Google's models a purpose and a title, on either of its services.

local PURPOSES = { query = "RETRIEVAL_QUERY", document = "RETRIEVAL_DOCUMENT", similarity = "SEMANTIC_SIMILARITY",
  classification = "CLASSIFICATION", clustering = "CLUSTERING", code_query = "CODE_RETRIEVAL_QUERY" }

--- The title and the word for the purpose, nil for none. A title goes with documents only. A model that ignores both
-- has them in its texts (`wrap` of the row's facts).
return function(ask)
  local title = ask.title
  if title and ask.purpose ~= "document" then
    ask.unsupported("title", 'a title goes with purpose = "document": left out')
    title = nil
  end
  if ask.facts.wrap then return nil, nil end
  return title, PURPOSES[ask.purpose]
end
