--- Members of decoded JSON, whatever shape a server gave it.

--- The member of `value` at the end of these names; nil where there is none.
return function(value, ...)
  for _, name in ipairs { ... } do
    if type(value) ~= "table" then return nil end
    value = value[name]
  end
  return value
end
