# dump_members.awk: what a dump of libabigail says of public types, one a line: of each member its struct,
# name, offset in bits and type; of each typedef what it stands for.
function attribute(name) {
  if (!match($0, " " name "='[^']*'")) return ""
  return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
}
function type_name(id,    i, text) {
  text = name[id]
  if (id in target) text = text " " type_name(target[id])
  if (!(id in parameters)) return text
  for (i = 1; i <= parameters[id]; i++) text = text (i > 1 ? ", " : "(") type_name(parameter[id, i])
  return text ") returns " type_name(result[id])
}
{ id = attribute("id") }
/<(type-decl|typedef-decl|class-decl) / { name[id] = attribute("name") }
/<pointer-type-def / { name[id] = "pointer to"; target[id] = attribute("type-id") }
/<qualified-type-def / { name[id] = "const"; target[id] = attribute("type-id") }
/<typedef-decl / { if (name[id] ~ /^sdpa_/) alias[id] = attribute("type-id") }
/<class-decl / { struct = attribute("name") }
/<data-member / { offset = attribute("layout-offset-in-bits") }
/<var-decl / && offset != "" {
  member[++members] = struct " " attribute("name") " " offset
  type[members] = attribute("type-id")
  offset = ""
}
/<function-type / { function_id = id; name[id] = "function"; parameters[id] = 0 }
/<parameter / && function_id { parameter[function_id, ++parameters[function_id]] = attribute("type-id") }
/<return / && function_id { result[function_id] = attribute("type-id") }
/<\/function-type>/ { function_id = "" }
END {
  for (i = 1; i <= members; i++) print member[i], type_name(type[i])
  for (id in alias) print name[id], "is", type_name(alias[id])
}
