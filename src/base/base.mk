# base: status, memory, text, log.  Includes nothing of ours.
noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
  src/base/buf.c src/base/buf.h \
  src/base/subprocess.c src/base/subprocess.h \
  src/base/clock.h \
  src/base/dirs.c src/base/dirs.h \
  src/base/fnv.h \
  src/base/item.c src/base/item.h \
  src/base/limits.c src/base/limits.h \
  src/base/log.c src/base/log.h \
  src/base/mem.c src/base/mem.h \
  src/base/module.c src/base/module.h \
  src/base/outfile.c src/base/outfile.h \
  src/base/readat.c src/base/readat.h \
  src/base/spill.c src/base/spill.h \
  src/base/status.c src/base/status.h \
  src/base/embedded.h \
  src/base/text.c src/base/text.h
