# tests of compute: kernels and features, linear systems, likelihood, models
# tests of the features group
if HAVE_CHECK
features_tests = tests/compute/check_alloc tests/compute/check_conform \
  tests/compute/check_exact_op tests/compute/check_features tests/compute/check_hash \
  tests/compute/check_inducing tests/compute/check_kernels tests/compute/check_levels \
  tests/compute/check_places \
  tests/compute/check_ranks tests/compute/check_ranks_device \
  tests/compute/check_rows tests/compute/check_share \
  tests/compute/check_spectrum \
  tests/compute/check_tanimoto tests/compute/check_tensor tests/compute/check_threads \
  tests/compute/check_windows
check_PROGRAMS += $(features_tests)
TESTS += $(features_tests)
endif
tests_compute_check_features_SOURCES = tests/compute/check_features.c tests/compute/problem.c \
  tests/compute/problem.h
tests_compute_check_features_LDADD = $(compute_tests)
tests_compute_check_levels_SOURCES = tests/compute/check_levels.c tests/compute/problem.c \
  tests/compute/problem.h
tests_compute_check_levels_LDADD = $(compute_tests)
tests_compute_check_exact_op_SOURCES = tests/compute/check_exact_op.c
tests_compute_check_exact_op_LDADD = $(compute_tests)
tests_compute_check_conform_SOURCES = tests/compute/check_conform.c
tests_compute_check_conform_LDADD = $(compute_tests)
tests_compute_check_kernels_SOURCES = tests/compute/check_kernels.c
tests_compute_check_kernels_LDADD = $(compute_tests)
tests_compute_check_rows_SOURCES = tests/compute/check_rows.c
tests_compute_check_rows_LDADD = $(compute_tests)
tests_compute_check_share_SOURCES = tests/compute/check_share.c tests/compute/summed.c \
  tests/compute/summed.h
tests_compute_check_ranks_SOURCES = tests/compute/check_ranks.c tests/compute/summed.c \
  tests/compute/summed.h
tests_compute_check_ranks_LDADD = $(compute_tests)
# What starts processes and joins them in the place of MPI.
crew_cc = $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS)
tests/crew/sockets.so: tests/crew/sockets.c src/compute/ranks/crew.h
	$(AM_V_CCLD)$(MKDIR_P) tests/crew && $(crew_cc) -fPIC -fvisibility=hidden -shared -o $@ \
	  `test -f tests/crew/sockets.c || echo '$(srcdir)/'`tests/crew/sockets.c -lm
tests/crew/mpirun: tests/crew/mpirun.c
	$(AM_V_CCLD)$(MKDIR_P) tests/crew && $(crew_cc) -o $@ \
	  `test -f tests/crew/mpirun.c || echo '$(srcdir)/'`tests/crew/mpirun.c
crew_parts = tests/crew/sockets.so tests/crew/mpirun
EXTRA_tests_compute_check_ranks_DEPENDENCIES = $(crew_parts)
EXTRA_tests_compute_check_places_DEPENDENCIES = $(crew_parts)
check_DATA += $(crew_parts)
CLEANFILES += $(crew_parts)
EXTRA_DIST += tests/crew/sockets.c tests/crew/mpirun.c
tests_compute_check_ranks_device_SOURCES = tests/compute/check_ranks_device.c \
  tests/compute/summed.c tests/compute/summed.h
tests_compute_check_ranks_device_LDADD = $(compute_tests)
tests_compute_check_places_SOURCES = tests/compute/check_places.c
tests_compute_check_places_LDADD = $(compute_tests)
tests_compute_check_share_LDADD = $(compute_tests)
tests_compute_check_inducing_SOURCES = tests/compute/check_inducing.c
tests_compute_check_inducing_LDADD = $(compute_tests)
tests_compute_check_spectrum_SOURCES = tests/compute/check_spectrum.c
tests_compute_check_spectrum_LDADD = $(compute_tests)
tests_compute_check_hash_SOURCES = tests/compute/check_hash.c tests/compute/counts.h
tests_compute_check_hash_LDADD = $(compute_tests)
tests_compute_check_tanimoto_SOURCES = tests/compute/check_tanimoto.c tests/compute/counts.h
tests_compute_check_tanimoto_LDADD = $(compute_tests)
tests_compute_check_tensor_SOURCES = tests/compute/check_tensor.c tests/compute/counts.h
tests_compute_check_tensor_LDADD = $(compute_tests)
tests_compute_check_windows_SOURCES = tests/compute/check_windows.c
tests_compute_check_windows_LDADD = $(compute_tests)
# All requests for memory of our own code are counted.
tests_compute_check_alloc_SOURCES = tests/compute/check_alloc.c
tests_compute_check_alloc_LDADD = $(compute_tests)
tests_compute_check_alloc_LDFLAGS = \
  -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=posix_memalign
tests_compute_check_threads_SOURCES = tests/compute/check_threads.c
tests_compute_check_threads_LDADD = $(compute_tests)
# The levels of the processor from the command line.
TESTS += tests/scripts/processors.sh
EXTRA_DIST += tests/scripts/processors.sh
# tests of the solve group
solve_tests = tests/compute/check_blas tests/compute/check_classes \
  tests/compute/check_dirichlet tests/compute/check_dual \
  tests/compute/check_functions \
  tests/compute/check_calibration \
  tests/compute/check_intervals tests/compute/check_kpca \
  tests/compute/check_metrics \
  tests/compute/check_precond tests/compute/check_registry tests/compute/check_solver \
  tests/compute/check_softmax tests/compute/check_svm tests/compute/check_truth \
  tests/compute/check_fold tests/compute/check_walled
if HAVE_CHECK
check_PROGRAMS += $(solve_tests)
TESTS += $(solve_tests)
endif
tests_compute_check_blas_SOURCES = tests/compute/check_blas.c
tests_compute_check_blas_LDADD = $(compute_tests)
tests_compute_check_classes_SOURCES = tests/compute/check_classes.c
tests_compute_check_classes_LDADD = $(compute_tests)
tests_compute_check_dirichlet_SOURCES = tests/compute/check_dirichlet.c
tests_compute_check_dirichlet_LDADD = $(compute_tests)
tests_compute_check_softmax_SOURCES = tests/compute/check_softmax.c
tests_compute_check_softmax_LDADD = $(compute_tests)
tests_compute_check_walled_SOURCES = tests/compute/check_walled.c
tests_compute_check_walled_LDADD = $(compute_tests)
tests_compute_check_fold_SOURCES = tests/compute/check_fold.c
tests_compute_check_fold_LDADD = $(compute_tests)
tests_compute_check_dual_SOURCES = tests/compute/check_dual.c
tests_compute_check_dual_LDADD = $(compute_tests)
tests_compute_check_functions_SOURCES = tests/compute/check_functions.c
tests_compute_check_functions_LDADD = $(compute_tests)
tests_compute_check_precond_SOURCES = tests/compute/check_precond.c
tests_compute_check_precond_LDADD = $(compute_tests)
tests_compute_check_registry_SOURCES = tests/compute/check_registry.c
tests_compute_check_registry_LDADD = $(compute_tests)
tests_compute_check_solver_SOURCES = tests/compute/check_solver.c
tests_compute_check_solver_LDADD = $(compute_tests)
tests_compute_check_svm_SOURCES = tests/compute/check_svm.c
tests_compute_check_svm_LDADD = $(compute_tests)
tests_compute_check_truth_SOURCES = tests/compute/check_truth.c
tests_compute_check_truth_LDADD = $(compute_tests)
tests_compute_check_kpca_SOURCES = tests/compute/check_kpca.c
tests_compute_check_kpca_LDADD = $(compute_tests)
tests_compute_check_calibration_SOURCES = tests/compute/check_calibration.c
tests_compute_check_calibration_LDADD = $(compute_tests)
tests_compute_check_intervals_SOURCES = tests/compute/check_intervals.c
tests_compute_check_intervals_LDADD = $(compute_tests)
tests_compute_check_metrics_SOURCES = tests/compute/check_metrics.c
tests_compute_check_metrics_LDADD = $(compute_tests)

# after all that read golden files
golden_tests = tests/check_base tests/compute/check_features tests/compute/check_kernels \
  tests/compute/check_levels tests/compute/check_windows tests/compute/check_nmll \
  tests/compute/check_learn tests/compute/check_learn_maps tests/compute/check_products \
  tests/compute/check_model tests/compute/check_tune $(solve_tests)
if HAVE_CHECK
TESTS += tests/scripts/golden.sh
tests/scripts/golden.log: $(golden_tests:=.log)
endif
EXTRA_DIST += tests/scripts/golden.sh tests/golden.md
# tests of the gp group
if HAVE_CHECK
check_PROGRAMS += tests/compute/check_effects tests/compute/check_fit \
  tests/compute/check_nmll tests/compute/check_products tests/compute/check_memory \
  tests/compute/check_cnn tests/compute/check_learn tests/compute/check_learn_maps \
  tests/compute/check_model tests/compute/check_nn \
  tests/compute/check_rank tests/compute/check_targets tests/compute/check_tune
TESTS += tests/compute/check_effects tests/compute/check_fit \
  tests/compute/check_nmll tests/compute/check_products tests/compute/check_memory \
  tests/compute/check_cnn tests/compute/check_learn tests/compute/check_learn_maps \
  tests/compute/check_model tests/compute/check_nn \
  tests/compute/check_rank tests/compute/check_targets tests/compute/check_tune
endif
tests_compute_check_products_SOURCES = tests/compute/check_products.c
tests_compute_check_products_LDADD = $(compute_tests)
tests_compute_check_cnn_SOURCES = tests/compute/check_cnn.c
tests_compute_check_cnn_LDADD = $(compute_tests)
tests_compute_check_learn_maps_SOURCES = tests/compute/check_learn_maps.c
tests_compute_check_learn_maps_LDADD = $(compute_tests)
tests_compute_check_learn_SOURCES = tests/compute/check_learn.c
tests_compute_check_learn_LDADD = $(compute_tests)
tests_compute_check_nmll_SOURCES = tests/compute/check_nmll.c
tests_compute_check_nmll_LDADD = $(compute_tests)
tests_compute_check_fit_SOURCES = tests/compute/check_fit.c tests/compute/fits.c \
  tests/compute/fits.h
tests_compute_check_fit_LDADD = $(compute_tests)
tests_compute_check_effects_SOURCES = tests/compute/check_effects.c tests/compute/fits.c \
  tests/compute/fits.h
tests_compute_check_effects_LDADD = $(compute_tests)
tests_compute_check_model_SOURCES = tests/compute/check_model.c tests/compute/fits.c \
  tests/compute/fits.h
tests_compute_check_model_LDADD = $(compute_tests)
tests_compute_check_nn_SOURCES = tests/compute/check_nn.c tests/compute/fits.c \
  tests/compute/fits.h tests/compute/counts.h
tests_compute_check_nn_LDADD = $(compute_tests)
tests_compute_check_rank_SOURCES = tests/compute/check_rank.c
tests_compute_check_rank_LDADD = $(compute_tests)
tests_compute_check_tune_SOURCES = tests/compute/check_tune.c
tests_compute_check_tune_LDADD = $(compute_tests)
tests_compute_check_targets_SOURCES = tests/compute/check_targets.c
tests_compute_check_targets_LDADD = $(compute_tests)
tests_compute_check_memory_SOURCES = tests/compute/check_memory.c
tests_compute_check_memory_LDADD = $(compute_tests)
# tests of the diagnosing commands
if HAVE_CHECK
check_PROGRAMS += tests/compute/check_diagnose
TESTS += tests/compute/check_diagnose
endif
tests_compute_check_diagnose_SOURCES = tests/compute/check_diagnose.c
tests_compute_check_diagnose_LDADD = $(compute_tests)
TESTS += tests/scripts/diagnosis.sh tests/scripts/dual.sh tests/scripts/exact.sh \
  tests/scripts/forecast.sh tests/scripts/inducing.sh tests/scripts/nearest.sh \
  tests/scripts/stored.sh \
  tests/scripts/why.sh tests/scripts/words.sh tests/scripts/traps.sh
EXTRA_DIST += tests/scripts/diagnosis.sh tests/scripts/dual.sh \
  tests/scripts/exact.sh tests/scripts/forecast.sh tests/scripts/inducing.sh \
  tests/scripts/nearest.sh \
  tests/scripts/stored.sh tests/scripts/why.sh tests/scripts/words.sh tests/scripts/traps.sh \
  tests/bench/advise.sh tests/bench/forecast.sh tests/bench/forecast.md \
  tests/bench/why.sh \
  tests/bench/causes.sh tests/bench/mend.sh tests/bench/classes.sh \
  tests/bench/classes.md
