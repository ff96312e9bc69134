# marginal likelihood, tuning, fitted models
libcompute_a_SOURCES += \
  src/compute/model.h \
  src/compute/nmll.h \
  src/compute/tune.h
