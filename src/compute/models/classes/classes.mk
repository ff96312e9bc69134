# kinds of model whose targets are classes
libcompute_a_SOURCES += \
  src/compute/models/classes/csvc.c \
  src/compute/models/classes/csvc.h \
  src/compute/models/classes/model_classes.c \
  src/compute/models/classes/model_dirichlet.c \
  src/compute/models/classes/model_dirichlet.h \
  src/compute/models/classes/model_dirichlet_exact.c \
  src/compute/models/classes/model_discriminant.c \
  src/compute/models/classes/model_softmax.c \
  src/compute/models/classes/model_sparse_classes.c \
  src/compute/models/classes/model_svm.c
