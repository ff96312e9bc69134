# session files, the states of a session, what a session is written as
noinst_LIBRARIES += libsession.a
libsession_a_SOURCES = \
  src/app/session/expect.c \
  src/app/session/expect.h \
  src/app/session/store.c \
  src/app/session/store.h \
  src/app/session/store_db.c \
  src/app/session/store_doc.c \
  src/app/session/store_files.c \
  src/app/session/store_gate.c \
  src/app/session/store_gate.h \
  src/app/session/store_guard.c \
  src/app/session/store_impl.h \
  src/app/session/store_json.c \
  src/app/session/store_load.c \
  src/app/session/store_load.h \
  src/app/session/store_new.c \
  src/app/session/store_owner.c \
  src/app/session/store_pack.c \
  src/app/session/store_unpack.c \
  src/app/session/store_queue.c \
  src/app/session/store_queue.h \
  src/app/session/store_read_data.c \
  src/app/session/store_read_field.c \
  src/app/session/store_read_model.c \
  src/app/session/store_read_run.c \
  src/app/session/store_salvage.c \
  src/app/session/store_write.c \
  src/app/session/store_write.h \
  src/app/session/timeline.c \
  src/app/session/timeline.h \
  src/app/session/transcript.c \
  src/app/session/transcript.h \
  src/app/session/transcript_rows.c \
  src/app/session/transcript_rows.h
nodist_libsession_a_SOURCES = src/app/session/schema_sql.c

schema_files = share/schema/001.sql share/schema/002.sql
EXTRA_DIST += src/app/embed.awk $(schema_files)
CLEANFILES += src/app/session/schema_sql.c
src/app/session/schema_sql.c: src/app/embed.awk $(schema_files)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && (cd '$(srcdir)' && $(AWK) -f src/app/embed.awk \
	  $(schema_files)) > $@.tmp && mv $@.tmp $@

