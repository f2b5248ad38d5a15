--- What f raises when it is called with the arguments; raises where it raises nothing.
return function(f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "nothing was raised")
  return err
end
