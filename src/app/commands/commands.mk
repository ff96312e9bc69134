# the rows of the command table
noinst_LIBRARIES += libcommands.a
libcommands_a_SOURCES = \
  src/app/commands/app.c \
  src/app/commands/app.h \
  src/app/commands/cmd_calibrate.c \
  src/app/commands/cmd_data.c \
  src/app/commands/cmd_diag.c \
  src/app/commands/cmd_general.c \
  src/app/commands/cmd_jobs.c \
  src/app/commands/cmd_likelihood.c \
  src/app/commands/cmd_line.c \
  src/app/commands/cmd_model.c \
  src/app/commands/cmd_predict.c \
  src/app/commands/cmd_open.c \
  src/app/commands/cmd_plot.c \
  src/app/commands/cmd_prepare.c \
  src/app/commands/cmd_report.c \
  src/app/commands/cmd_runs.c \
  src/app/commands/cmd_screen.c \
  src/app/commands/cmd_session.c \
  src/app/commands/cmd_settings.c \
  src/app/commands/cmd_suggest.c \
  src/app/commands/cmd_sweep.c \
  src/app/commands/cmd_teach.c \
  src/app/commands/cmd_time.c \
  src/app/commands/cols_molecules.c \
  src/app/commands/cols_molecules.h \
  src/app/commands/commands.h \
  src/app/commands/data_words.c \
  src/app/commands/data_words.h \
  src/app/commands/learned_args.c \
  src/app/commands/learned_args.h \
  src/app/commands/palette_fill.c \
  src/app/commands/palette_fill.h
