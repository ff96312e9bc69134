# records, the command table, workspace, jobs, scripts
libapp_a_SOURCES += \
  src/app/args.c \
  src/app/args.h \
  src/app/command.c \
  src/app/command.h \
  src/app/commands.h \
  src/app/hyper.c \
  src/app/job.c \
  src/app/job.h \
  src/app/options.h \
  src/app/rec.c \
  src/app/rec.h \
  src/app/workspace.c \
  src/app/workspace.h
