# BLAS and LAPACK behind checked calls
libcompute_a_SOURCES += \
  src/compute/linalg/tall.c \
  src/compute/linalg/tall.h \
  src/compute/linalg/blas.c \
  src/compute/linalg/blas.h \
  src/compute/linalg/blas_factor.c \
  src/compute/linalg/blas_kernels.h \
  src/compute/linalg/blas_tridiag.c
