# linear algebra, solvers, preconditioners, kernel PCA, metrics
libcompute_a_SOURCES += \
  src/compute/blas.c \
  src/compute/blas.h \
  src/compute/blas_factor.c \
  src/compute/blas_kernels.h \
  src/compute/blas_tridiag.c \
  src/compute/ctl.c \
  src/compute/ctl.h \
  src/compute/kmeans.c \
  src/compute/kpca.c \
  src/compute/kpca.h \
  src/compute/metrics.c \
  src/compute/metrics.h \
  src/compute/precond.c \
  src/compute/precond.h \
  src/compute/precond_impl.h \
  src/compute/preconds/gram.c \
  src/compute/preconds/jacobi.c \
  src/compute/preconds/none.c \
  src/compute/preconds/nystrom.c \
  src/compute/preconds/pchol.c \
  src/compute/ritz.c \
  src/compute/ritz.h \
  src/compute/solver.c \
  src/compute/solver.h \
  src/compute/solvers/amsgrad.c \
  src/compute/solvers/batch.c \
  src/compute/solvers/batch.h \
  src/compute/solvers/cg.c \
  src/compute/solvers/descent.c \
  src/compute/solvers/descent.h \
  src/compute/solvers/direct.c \
  src/compute/solvers/lbfgs.c \
  src/compute/solvers/pcg.c \
  src/compute/solvers/svrg.c
