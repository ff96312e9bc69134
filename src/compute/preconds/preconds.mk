# preconditioners
libcompute_a_SOURCES += \
  src/compute/preconds/gram.c \
  src/compute/preconds/jacobi.c \
  src/compute/preconds/none.c \
  src/compute/preconds/nystrom.c \
  src/compute/preconds/pchol.c \
  src/compute/preconds/precond.c \
  src/compute/preconds/precond.h \
  src/compute/preconds/precond_impl.h \
  src/compute/preconds/precond_rows.c
