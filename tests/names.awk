# names.awk -- what a document says is in the source, one line each: "file PATH", "folder PATH/",
# "in PATH NAME" for `NAME` in parentheses or after a comma behind PATH, or before "in PATH",
# "name NAME" for any other identifier in backquotes.  Names that a reader is to choose (NAME.c) are
# left out.
function names(text, file,   name) {
    while (match(text, /`(struct )?[A-Za-z_][A-Za-z0-9_]*(\(\))?`/)) {
        name = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        sub(/^struct /, "", name)
        sub(/\(\)$/, "", name)
        if (name ~ /NAME|TOPIC/)
            continue
        print file == "" ? "name " name : "in " file " " name
    }
}
function paragraph(text,   file, rest, inside, before, said) {
    gsub(/\*\*/, "", text)
    while (match(text, /[A-Za-z0-9_.\/-]*[A-Za-z0-9_]\.(md|c|h|cu|awk|mk|sh)|[a-z][a-z_\/]*\//)) {
        file = substr(text, RSTART, RLENGTH)
        before = substr(text, 1, RSTART - 1)
        rest = substr(text, RSTART + RLENGTH)
        # A path with a name to choose, or a member of a struct (column.held).
        if (rest ~ /^[A-Za-z0-9_]/ || (file ~ /\/$/ && rest ~ /^[*.<{]/)) {
            text = before " " rest
            continue
        }
        if (file !~ /[A-Z][A-Z]/ || file ~ /\/?README\.md$/)
            print (file ~ /\/$/ ? "folder " : "file ") file
        if (match(before, /`[A-Za-z_][A-Za-z0-9_]*` in $/)) {
            said = substr(before, RSTART)
            before = substr(before, 1, RSTART - 1)
            names(said, file)
        }
        names(before, "")
        inside = ""
        if (match(rest, /^`? \([^)]*(\(\)[^)]*)*\)|^(, `[A-Za-z_][A-Za-z0-9_]*`)+/)) {
            inside = substr(rest, 1, RLENGTH)
            rest = substr(rest, RLENGTH + 1)
        }
        names(inside, file)
        text = rest
    }
    names(text, "")
}
function flush() {
    if (joined != "")
        paragraph(joined)
    joined = ""
}
/^ *$/ || /^\|/ || /^ *[0-9]+\. / { flush() }
{ line = $0; sub(/^ +/, "", line); joined = joined (joined == "" ? "" : " ") line }
END { flush() }
