# kinds of model: exact and by features
libcompute_a_SOURCES += \
  src/compute/models/exact.c \
  src/compute/models/exact.h \
  src/compute/models/exact_form.c \
  src/compute/models/exact_form.h \
  src/compute/models/exact_op.c \
  src/compute/models/exact_op.h \
  src/compute/models/exact_stored.c \
  src/compute/models/exact_stored.h \
  src/compute/models/exact_system.c \
  src/compute/models/exact_system.h \
  src/compute/models/fit.c \
  src/compute/models/fit.h \
  src/compute/models/functions.c \
  src/compute/models/functions.h \
  src/compute/models/model.c \
  src/compute/models/model.h \
  src/compute/models/model_average.c \
  src/compute/models/model_exact.c \
  src/compute/models/model_features.c \
  src/compute/models/model_fit.c \
  src/compute/models/model_impl.h \
  src/compute/models/model_kinds.c \
  src/compute/models/model_left_out.c \
  src/compute/models/model_plan.c \
  src/compute/models/model_products.c \
  src/compute/models/model_rank.c \
  src/compute/models/model_refine.c \
  src/compute/models/model_single.c \
  src/compute/models/model_start.c \
  src/compute/models/propose.c \
  src/compute/models/propose.h \
  src/compute/models/rescale.c \
  src/compute/models/rescale.h \
  src/compute/models/tuning.h \
  src/compute/models/tuning_features.c \
  src/compute/models/tuning_rank.c
