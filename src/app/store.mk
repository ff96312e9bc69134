# session files: the store, the schema embedded as text, and the commands about sessions
libapp_a_SOURCES += \
  src/app/checksum.c \
  src/app/checksum.h \
  src/app/cmd_session.c \
  src/app/reading.c \
  src/app/reading.h \
  src/app/store.c \
  src/app/store.h \
  src/app/store_db.c \
  src/app/store_doc.c \
  src/app/store_files.c \
  src/app/store_impl.h \
  src/app/store_json.c \
  src/app/store_load.c \
  src/app/store_pack.c \
  src/app/transcript.c \
  src/app/transcript.h
nodist_libapp_a_SOURCES = src/app/schema_sql.c

schema_files = share/schema/001.sql share/schema/002.sql
EXTRA_DIST += src/app/embed.awk $(schema_files)
CLEANFILES += src/app/schema_sql.c
src/app/schema_sql.c: src/app/embed.awk $(schema_files)
	$(AM_V_GEN)$(MKDIR_P) src/app && (cd '$(srcdir)' && $(AWK) -f src/app/embed.awk \
	  $(schema_files)) > $@.tmp && mv $@.tmp $@

dist_doc_DATA += share/doc/diagnosis.md share/doc/export.md share/doc/sessions.md share/doc/solvers.md \
	share/doc/targets.md share/doc/ux-differences.md
