# records, the command table, workspace, jobs, scripts
libapp_a_SOURCES += \
  src/app/command.h \
  src/app/job.h \
  src/app/rec.h \
  src/app/workspace.h
