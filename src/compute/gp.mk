# marginal likelihood, tuning, fitted models
libcompute_a_SOURCES += \
  src/compute/diagnose.c src/compute/diagnose.h \
  src/compute/exact.c src/compute/exact.h \
  src/compute/model.c src/compute/model.h src/compute/model_impl.h \
  src/compute/model_fit.c \
  src/compute/model_plan.c \
  src/compute/model_rank.c \
  src/compute/model_refine.c \
  src/compute/model_start.c \
  src/compute/nmll.c src/compute/nmll.h src/compute/nmll_impl.h \
  src/compute/nmll_dual.c \
  src/compute/nmll_factors.c \
  src/compute/nmll_loo.c \
  src/compute/nmll_slq.c \
  src/compute/spectrum.c src/compute/spectrum.h \
  src/compute/tune.c src/compute/tune.h src/compute/tune_impl.h \
  src/compute/tune_nlopt.c \
  src/compute/tune_rank.c \
  src/compute/tuners/bayes.c \
  src/compute/tuners/grid.c \
  src/compute/tuners/lbfgs.c \
  src/compute/tuners/simplex.c
