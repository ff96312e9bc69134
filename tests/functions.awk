# functions.awk -- one line for each function of C sources: file, line, name, lines, parameters.
# A function's body begins with "{" alone on a line and ends with "}" in the first column; what
# stands before it, back to the last line that ends something, is its head.
function parameters(text,    i, c, depth, n, any) {
    i = index(text, "(")
    if (match(text, /[A-Z]+\([a-z_0-9]+\)[ ]*\(/)) # N(name)(...)
        i = RSTART + RLENGTH - 1
    depth = 0; n = 0; any = 0
    for (; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "(") depth++
        else if (c == ")") { if (--depth == 0) break }
        else if (c == "," && depth == 1) n++
        else if (c != " ") any = 1
    }
    inside = text
    if (text ~ /\([ ]*void[ ]*\)[ ]*$/ || !any) return 0
    return n + 1
}
function name_of(text,    before) {
    if (match(text, /[A-Z]+\([a-z_0-9]+\)[ ]*\(/)) {
        before = substr(text, RSTART, RLENGTH)
        sub(/^[A-Z]+\(/, "", before); sub(/\).*/, "", before)
        return before
    }
    before = substr(text, 1, index(text, "(") - 1)
    sub(/[ ]+$/, "", before); sub(/.*[ *]/, "", before)
    return before
}
FNR == 1 { head = ""; inside_body = 0 }
inside_body {
    if ($0 ~ /^}/) {
        print FILENAME, start, name, FNR - start + 1, count
        inside_body = 0; head = ""
    }
    next
}
/^{/ {
    if (head ~ /\(/ && head !~ /=[ ]*$/ && head !~ /^[ ]*(struct|enum|union)[ ][a-z_0-9]+[ ]*$/) {
        name = name_of(head); count = parameters(head); inside_body = 1
        start = first
    }
    next
}
/^[ \t]*(#|\/\*|\*|\/\/|$)/ || /^ \*/ { if ($0 !~ /^#.*\\$/) head = ""; next }
/[;}][ \t]*(\/\*.*\*\/)?[ \t]*$/ { head = ""; next }
{ if (head == "") first = FNR; line = $0; gsub(/\/\*[^*]*\*\//, "", line); head = head " " line }
