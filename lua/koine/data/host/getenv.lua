--- The value of an environment variable: a string, or nil where it is not set, and where the host has no os.getenv for
-- its scripts.
return function(name)
  local getenv = os and os.getenv
  return getenv and getenv(name)
end
