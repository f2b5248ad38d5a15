--- Numbers that follow from a seed alone (a linear congruence, its high bits): a function of n that gives 1 to n.
return function(seed)
  local state = seed * 2654435761 & 0xFFFFFFFF
  return function(n)
    state = (state * 1103515245 + 12345) & 0x7FFFFFFF
    return (state >> 12) % n + 1
  end
end
