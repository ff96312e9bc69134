# Tests: Check programs and shell scripts that speak TAP.  A program links the layers it needs:
#   tests_check_x_LDADD = $(base_tests) | $(compute_tests) | $(app_tests) | $(ui_tests)
check_LIBRARIES += tests/libsupport.a
tests_libsupport_a_SOURCES = tests/support.c tests/support.h

base_tests = tests/libsupport.a libbase.a $(CHECK_LIBS) -lm
compute_tests = tests/libsupport.a libcompute.a libbase.a $(COMPUTE_LIBS) $(CHECK_LIBS)
app_tests = tests/libsupport.a $(app_archives) libfigure.a libdata.a libcompute.a libbase.a \
  $(APP_LIBS) $(COMPUTE_LIBS) \
  $(CHECK_LIBS)
ui_tests = tests/libsupport.a libui.a $(app_archives) libfigure.a libdata.a libcompute.a \
  libbase.a $(UI_LIBS) $(APP_LIBS) \
  $(COMPUTE_LIBS) $(CHECK_LIBS)

TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/run-tap.sh
SH_LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/run-tap.sh $(SHELL)
# No settings, sessions and cached tables of the user.  One BLAS thread: the programs split their
# own work.  Too large a request is NULL under ASan, too.
# The limits of Check are clock time: five times as long as written, as the machine may be busy.
AM_TESTS_ENVIRONMENT = \
  CK_DEFAULT_TIMEOUT=60; export CK_DEFAULT_TIMEOUT; \
  CK_TIMEOUT_MULTIPLIER=5; export CK_TIMEOUT_MULTIPLIER; \
  OPENBLAS_NUM_THREADS=1; export OPENBLAS_NUM_THREADS; \
  srcdir='$(srcdir)'; export srcdir; \
  top_srcdir='$(top_srcdir)'; export top_srcdir; \
  top_builddir='$(top_builddir)'; export top_builddir; \
  XDG_STATE_HOME='$(abs_top_builddir)/tests/home/state'; export XDG_STATE_HOME; \
  XDG_CONFIG_HOME='$(abs_top_builddir)/tests/home/config'; export XDG_CONFIG_HOME; \
  XDG_CACHE_HOME='$(abs_top_builddir)/tests/home/cache'; export XDG_CACHE_HOME; \
  XDG_DATA_HOME='$(abs_top_builddir)/tests/home/data'; export XDG_DATA_HOME; \
  ASAN_OPTIONS="allocator_may_return_null=1 $$ASAN_OPTIONS"; export ASAN_OPTIONS; \
  TSAN_OPTIONS="ignore_noninstrumented_modules=1 $$TSAN_OPTIONS"; export TSAN_OPTIONS;
EXTRA_DIST += tests/again.sh tests/rules.sh tests/run-tap.sh tests/verdict.sh tests/circles.sh \
  tests/functions.awk tests/house.sh tests/layers.sh \
  tests/equations.sh tests/names.awk tests/processors.sh
TESTS += tests/circles.sh tests/equations.sh tests/house.sh tests/layers.sh tests/processors.sh

clean-local:
	rm -rf tests/home tests/golden

# Most tests take longer to optimise than they then save; benchmarks, and tests that compute much by
# themselves, are compiled as the program is.
tests/%.$(OBJEXT): CFLAGS += -O0
tests/bench/%.$(OBJEXT) tests/check_cuda_host-%.$(OBJEXT) \
  tests/cuda/check_cuda_host-%.$(OBJEXT) \
  $(patsubst %,tests/compute/check_%.$(OBJEXT),conform levels memory model): CFLAGS := $(CFLAGS)

# The longest are started first, so that the end of a run is not one long test.
longest = tests/campaign/faults tests/screens/allkeys tests/screens/ends tests/screens/restarts \
  tests/compute/check_ranks_device tests/scripts/lessons tests/compute/check_ranks \
  tests/check_cuda_host tests/compute/check_registry tests/scripts/sequences \
  tests/scripts/ranks/mpi tests/scripts/intervals tests/scripts/device tests/processors \
  tests/scripts/ranks/lost tests/scripts/classes/decisions tests/scripts/plots \
  tests/scripts/molecules/traps tests/compute/check_levels tests/compute/check_share \
  tests/scripts/suggest tests/check_resume tests/compute/check_memory tests/screens/matrix \
  tests/screens/signals tests/scripts/why tests/scripts/diagnosis tests/scripts/kernels \
  tests/scripts/model tests/screens/desk tests/screens/hostile tests/house \
  tests/campaign/cases tests/molecules/check_molecules \
  tests/compute/check_features tests/check_import tests/compute/check_functions tests/check_screen \
  tests/compute/check_dual tests/compute/check_inducing tests/compute/check_exact_op
start_of_tests = check-TESTS recheck
$(start_of_tests): TEST_LOGS := \
  $(foreach test,$(longest),$(filter $(test).log,$(TEST_LOGS))) \
  $(filter-out $(longest:=.log),$(TEST_LOGS))

check_DATA =
include $(srcdir)/tests/base.mk
include $(srcdir)/tests/compute/compute.mk
include $(srcdir)/tests/data.mk
include $(srcdir)/tests/plot.mk
include $(srcdir)/tests/core.mk
include $(srcdir)/tests/model.mk
include $(srcdir)/tests/store.mk
include $(srcdir)/tests/teach.mk
include $(srcdir)/tests/time.mk
include $(srcdir)/tests/ui.mk
include $(srcdir)/tests/cuda.mk
include $(srcdir)/tests/molecules/molecules.mk
include $(srcdir)/tests/campaign/local.mk
include $(srcdir)/tests/bench/local.mk
