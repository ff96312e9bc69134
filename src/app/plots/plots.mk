# what is drawn of what
noinst_LIBRARIES += libplots.a
libplots_a_SOURCES = \
  src/app/plots/draws.c \
  src/app/plots/draws.h \
  src/app/plots/landscape.c \
  src/app/plots/landscape.h \
  src/app/plots/plot_job.c \
  src/app/plots/plot_job.h \
  src/app/plots/plot_rows.c \
  src/app/plots/plot_rows.h \
  src/app/plots/plot_words.c \
  src/app/plots/plots.c \
  src/app/plots/plots.h \
  src/app/plots/plots_boundary.c \
  src/app/plots/plots_boundary.h \
  src/app/plots/plots_classes.c \
  src/app/plots/plots_labels.c \
  src/app/plots/plots_labels.h \
  src/app/plots/plots_learned.c \
  src/app/plots/plots_learned.h \
  src/app/plots/plots_training.c \
  src/app/plots/plots_data.c \
  src/app/plots/plots_effects.c \
  src/app/plots/plots_letters.c \
  src/app/plots/plots_inducing.c \
  src/app/plots/plots_model.c \
  src/app/plots/plots_molecules.c \
  src/app/plots/plots_run.c \
  src/app/plots/plots_ranks.c \
  src/app/plots/plots_search.c \
  src/app/plots/plots_sweep.c
