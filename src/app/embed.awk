# embed.awk -- SQL files as C strings, so that the program needs no installed files.
#   awk -f embed.awk share/schema/001.sql ... > schema_sql.c
# Defines `const char *const store_migration[]`, in the order given, ending in NULL.
BEGIN {
    print "/* Made by src/app/embed.awk from share/schema; not to be edited. */"
    print "#include \"app/session/store_impl.h\""
    print ""
    print "const char *const store_migration[] = {"
}
FNR == 1 && NR > 1 { print "    ," }
{
    gsub(/\\/, "\\\\")
    gsub(/"/, "\\\"")
    print "    \"" $0 "\\n\""
}
END { print "    , (const char *)0 };" }
