# inducing points of sparse models: their bound, and the ways to choose them
libcompute_a_SOURCES += \
  src/compute/inducing/anneal.c \
  src/compute/inducing/basis.c \
  src/compute/inducing/basis.h \
  src/compute/inducing/bound.c \
  src/compute/inducing/bound.h \
  src/compute/inducing/columns.c \
  src/compute/inducing/columns.h \
  src/compute/inducing/dpp.c \
  src/compute/inducing/greedy.c \
  src/compute/inducing/kmeans.c \
  src/compute/inducing/pchol.c \
  src/compute/inducing/random.c \
  src/compute/inducing/residuals.c \
  src/compute/inducing/residuals.h \
  src/compute/inducing/select.c \
  src/compute/inducing/select.h \
  src/compute/inducing/select_ways.c \
  src/compute/inducing/sites.c \
  src/compute/inducing/sites.h \
  src/compute/inducing/weigh.c \
  src/compute/inducing/weigh.h \
  src/compute/inducing/word_counts.c \
  src/compute/inducing/word_counts.h
