# compute: kernels, feature maps, solvers, likelihood, models.  Knows base only.
noinst_LIBRARIES += libcompute.a
libcompute_a_SOURCES =
include $(srcdir)/src/compute/features.mk
include $(srcdir)/src/compute/solve.mk
include $(srcdir)/src/compute/gp.mk
