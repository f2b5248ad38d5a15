--- Prefixes of names, for engines that look names up by their order.

--- The least name that comes behind all names with the prefix, by bytes; nil where none does.
return function(prefix)
  local stem = prefix:match "^(.-)\xFF*$"
  if stem == "" then return nil end
  return stem:sub(1, -2) .. string.char(stem:byte(-1) + 1)
end
