# compute: kernels, feature maps, solvers, likelihood, models.  Knows base only.
noinst_LIBRARIES += libcompute.a
libcompute_a_SOURCES =
libcompute_a_SOURCES += \
  src/compute/backend.h \
  src/compute/backend_load.c \
  src/compute/backend_load.h \
  src/compute/ctl.c \
  src/compute/ctl.h \
  src/compute/fold.c \
  src/compute/fold.h \
  src/compute/gamma.c \
  src/compute/gamma.h \
  src/compute/linop.h \
  src/compute/phase.c \
  src/compute/phase.h \
  src/compute/pool.c \
  src/compute/pool.h \
  src/compute/rng.c \
  src/compute/rng.h \
  src/compute/share.c \
  src/compute/share.h \
  src/compute/tools.h
include $(srcdir)/src/compute/kernels/kernels.mk
include $(srcdir)/src/compute/kernels/layers/layers.mk
include $(srcdir)/src/compute/features/features.mk
include $(srcdir)/src/compute/cpu/cpu.mk
include $(srcdir)/src/compute/linalg/linalg.mk
include $(srcdir)/src/compute/likelihood/likelihood.mk
include $(srcdir)/src/compute/inducing/inducing.mk
include $(srcdir)/src/compute/models/models.mk
include $(srcdir)/src/compute/models/classes/classes.mk
include $(srcdir)/src/compute/solvers/solvers.mk
include $(srcdir)/src/compute/preconds/preconds.mk
include $(srcdir)/src/compute/tuners/tuners.mk
include $(srcdir)/src/compute/stats/stats.mk
include $(srcdir)/src/compute/ranks/ranks.mk
dist_doc_DATA += share/doc/map.md share/doc/methods.md
