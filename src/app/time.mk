# the states of a session: undo, redo, looking back; the bin
libapp_a_SOURCES += \
  src/app/cmd_line.c \
  src/app/cmd_time.c \
  src/app/expect.c \
  src/app/expect.h \
  src/app/export.c \
  src/app/timeline.c \
  src/app/timeline.h
