# Doxygen reads a header through this filter. The headers are commented for readers of the source, with plain //.
# This program turns those comments into Doxygen's.
#   comment lines above a declaration -> ///      a comment after a declaration -> ///<
# Comments inside function bodies stay as they are.

# The text of a comment, with the characters that Doxygen takes for commands or HTML protected.
function plain(text) {
  gsub(/[\\@#<>]/, "\\\\&", text)
  return text
}

{ sub(/namespace nlsq::inline v0/, "namespace nlsq") }

# Inside a function's body: nothing changes until its braces are closed.
depth > 0 {
  depth += gsub(/{/, "{") - gsub(/}/, "}")
  print
  next
}

# A block comment of a C header, up to its end.
/^ *\/\* / { block = 1 }
block {
  text = $0
  sub(/^ *\/\*/, "", text)
  opening = text == $0 ? "" : (NR == 1 ? "/** @file\n" : "/**")
  print opening plain(text)
  if (text ~ /\*\/ *$/) block = 0
  next
}

# A comment above a declaration. The comment that opens the file describes the file.
/^ *\/\// {
  indent = $0
  sub(/\/\/.*/, "", indent)
  text = $0
  sub(/^ *\/\//, "", text)
  if (NR == 1) print "/// @file"
  print indent "///" plain(text)
  next
}

# A comment at the end of a declaration.
/^[^\/]*[;,] +\/\/ / {
  at = index($0, "// ")
  print substr($0, 1, at - 1) "///<" plain(substr($0, at + 2))
  next
}

/^[^\/]*[;,0-9] +\/\* .*\*\/$/ {
  at = index($0, "/* ")
  print substr($0, 1, at - 1) "/**<" plain(substr($0, at + 2))
  next
}

# A function with a body: its lines are passed on until the body ends.
/\).*{[^}]*$/ {
  line = $0
  depth = gsub(/{/, "{", line) - gsub(/}/, "}", line)
}

{ print }
