# the negative log marginal likelihood
libcompute_a_SOURCES += \
  src/compute/likelihood/dirichlet.c \
  src/compute/likelihood/dirichlet.h \
  src/compute/likelihood/dirichlet_columns.c \
  src/compute/likelihood/dirichlet_columns.h \
  src/compute/likelihood/dirichlet_exact.c \
  src/compute/likelihood/dirichlet_exact.h \
  src/compute/likelihood/discriminant.c \
  src/compute/likelihood/discriminant.h \
  src/compute/likelihood/held.c \
  src/compute/likelihood/held.h \
  src/compute/likelihood/latent.c \
  src/compute/likelihood/latent.h \
  src/compute/likelihood/likelihood.c \
  src/compute/likelihood/likelihood.h \
  src/compute/likelihood/logit.c \
  src/compute/likelihood/nmll.c \
  src/compute/likelihood/nmll.h \
  src/compute/likelihood/nmll_classes.c \
  src/compute/likelihood/nmll_columns.c \
  src/compute/likelihood/nmll_columns.h \
  src/compute/likelihood/nmll_dirichlet.c \
  src/compute/likelihood/nmll_dual.c \
  src/compute/likelihood/nmll_exact.c \
  src/compute/likelihood/nmll_factors.c \
  src/compute/likelihood/nmll_features.c \
  src/compute/likelihood/nmll_impl.h \
  src/compute/likelihood/nmll_landscape.c \
  src/compute/likelihood/nmll_landscape.h \
  src/compute/likelihood/nmll_loo.c \
  src/compute/likelihood/nmll_slq.c \
  src/compute/likelihood/probit.c \
  src/compute/likelihood/softmax.c \
  src/compute/likelihood/softmax.h \
  src/compute/likelihood/temperature.c \
  src/compute/likelihood/temperature.h
