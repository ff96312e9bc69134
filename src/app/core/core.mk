# the workspace, jobs, traces
noinst_LIBRARIES += libcore.a
libcore_a_SOURCES = \
  src/app/core/advise_state.c \
  src/app/core/advise_state.h \
  src/app/core/batch.c \
  src/app/core/batch.h \
  src/app/core/condition.c \
  src/app/core/condition.h \
  src/app/core/default_kernel.c \
  src/app/core/default_kernel.h \
  src/app/core/hyper_args.c \
  src/app/core/job.c \
  src/app/core/job.h \
  src/app/core/kept.c \
  src/app/core/kept.h \
  src/app/core/owner.c \
  src/app/core/owner.h \
  src/app/core/measures.c \
  src/app/core/measures.h \
  src/app/core/progress.c \
  src/app/core/progress.h \
  src/app/core/rank_notes.c \
  src/app/core/rank_notes.h \
  src/app/core/run.c \
  src/app/core/run.h \
  src/app/core/trace.c \
  src/app/core/trace.h \
  src/app/core/workspace.c \
  src/app/core/workspace.h \
  src/app/core/workspace_exec.c \
  src/app/core/workspace_exec.h \
  src/app/core/workspace_impl.h \
  src/app/core/ws_screen.h \
  src/app/core/ws_tell.c \
  src/app/core/ws_tell.h \
  src/app/core/ws_words.c \
  src/app/core/ws_words.h
