# records, the command table, workspace, jobs, scripts
libapp_a_SOURCES += \
  src/app/args.c \
  src/app/args.h \
  src/app/batch.c \
  src/app/batch.h \
  src/app/cmd_data.c \
  src/app/cmd_general.c \
  src/app/cmd_sweep.c \
  src/app/command.c \
  src/app/command.h \
  src/app/commands.h \
  src/app/complete.c \
  src/app/grid.c \
  src/app/grid.h \
  src/app/help.c \
  src/app/hyper.c \
  src/app/job.c \
  src/app/job.h \
  src/app/options.c \
  src/app/options.h \
  src/app/rec.c \
  src/app/rec.h \
  src/app/script.c \
  src/app/script.h \
  src/app/sweep.c \
  src/app/sweep.h \
  src/app/workspace.c \
  src/app/workspace.h
