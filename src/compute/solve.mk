# linear algebra, solvers, preconditioners, kernel PCA, metrics
libcompute_a_SOURCES += \
  src/compute/blas.c \
  src/compute/blas.h \
  src/compute/blas_factor.c \
  src/compute/blas_kernels.h \
  src/compute/ctl.c \
  src/compute/ctl.h \
  src/compute/kpca.h \
  src/compute/metrics.h \
  src/compute/precond.h \
  src/compute/solver.h
