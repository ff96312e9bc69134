# solvers of linear systems
libcompute_a_SOURCES += \
  src/compute/solvers/amsgrad.c \
  src/compute/solvers/batch.c \
  src/compute/solvers/batch.h \
  src/compute/solvers/blocks.c \
  src/compute/solvers/cg.c \
  src/compute/solvers/descent.c \
  src/compute/solvers/descent.h \
  src/compute/solvers/direct.c \
  src/compute/solvers/dual.c \
  src/compute/solvers/dual.h \
  src/compute/solvers/dual_path.c \
  src/compute/solvers/dual_state.c \
  src/compute/solvers/dual_there.c \
  src/compute/solvers/gd.c \
  src/compute/solvers/lbfgs.c \
  src/compute/solvers/pcg.c \
  src/compute/solvers/sdd.c \
  src/compute/solvers/sgd.c \
  src/compute/solvers/solve.c \
  src/compute/solvers/solve.h \
  src/compute/solvers/solver.c \
  src/compute/solvers/solver.h \
  src/compute/solvers/svrg.c
