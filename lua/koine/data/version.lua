--- The version of Koine, as a string.
return "0.1.0"
