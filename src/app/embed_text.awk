# embed_text.awk -- text files as C strings, so that the program needs no installed files.
#   awk -v array=lesson_text -v header=app/teach/lesson_text.h -f embed_text.awk \
#       share/lessons/*.lesson > lessons_text.c
# Defines `const struct embedded ARRAY[]`: the file's name without its directory, and its text.
BEGIN {
    print "/* Made by src/app/embed_text.awk; not to be edited. */"
    print "#include \"" header "\""
    print ""
    print "const struct embedded " array "[] = {"
}
FNR == 1 {
    if (NR > 1)
        print "    },"
    name = FILENAME
    sub(/.*\//, "", name)
    print "    { \"" name "\","
}
{
    gsub(/\\/, "&&")
    gsub(/"/, "\\\"")
    gsub(/\?\?/, "?\\?")
    print "    \"" $0 "\\n\""
}
END {
    if (NR > 0)
        print "    },"
    print "    { (const char *)0, (const char *)0 },"
    print "};"
}
