# tests of the plot group
if HAVE_CHECK
check_PROGRAMS += tests/check_figure tests/check_gnuplot
TESTS += tests/check_figure tests/check_gnuplot
endif
tests_check_figure_SOURCES = tests/check_figure.c
tests_check_figure_LDADD = $(app_tests)
TESTS += tests/scripts/plots.sh
EXTRA_DIST += tests/scripts/plots.sh
tests_check_gnuplot_SOURCES = tests/check_gnuplot.c
tests_check_gnuplot_LDADD = $(app_tests)
