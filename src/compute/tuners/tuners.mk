# searches for hyperparameters
libcompute_a_SOURCES += \
  src/compute/tuners/bayes.c \
  src/compute/tuners/grid.c \
  src/compute/tuners/lbfgs.c \
  src/compute/tuners/learn.c \
  src/compute/tuners/learn.h \
  src/compute/tuners/learn_maps.c \
  src/compute/tuners/learn_maps.h \
  src/compute/tuners/learn_target.c \
  src/compute/tuners/learn_target.h \
  src/compute/tuners/simplex.c \
  src/compute/tuners/tune.c \
  src/compute/tuners/tune.h \
  src/compute/tuners/tune_eval.c \
  src/compute/tuners/tune_impl.h \
  src/compute/tuners/tune_line.c \
  src/compute/tuners/tune_nlopt.c \
  src/compute/tuners/tuner.c
