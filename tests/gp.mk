# tests of the gp group
if HAVE_CHECK
check_PROGRAMS += tests/check_nmll tests/check_memory tests/check_model tests/check_rank tests/check_targets tests/check_tune
TESTS += tests/check_nmll tests/check_memory tests/check_model tests/check_rank tests/check_targets tests/check_tune
endif
tests_check_nmll_SOURCES = tests/check_nmll.c
tests_check_nmll_LDADD = $(compute_tests)
tests_check_model_SOURCES = tests/check_model.c
tests_check_model_LDADD = $(compute_tests)
tests_check_rank_SOURCES = tests/check_rank.c
tests_check_rank_LDADD = $(compute_tests)
tests_check_tune_SOURCES = tests/check_tune.c
tests_check_tune_LDADD = $(compute_tests)
tests_check_targets_SOURCES = tests/check_targets.c
tests_check_targets_LDADD = $(compute_tests)
tests_check_memory_SOURCES = tests/check_memory.c
tests_check_memory_LDADD = $(compute_tests)
