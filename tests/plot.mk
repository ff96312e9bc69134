# tests of the plot group
if HAVE_CHECK
check_PROGRAMS += tests/figure/check_document tests/check_figure tests/check_gnuplot
TESTS += tests/figure/check_document tests/check_figure tests/check_gnuplot
endif
tests_figure_check_document_SOURCES = tests/figure/check_document.c
tests_figure_check_document_LDADD = $(app_tests)
tests_check_figure_SOURCES = tests/check_figure.c
tests_check_figure_LDADD = $(app_tests)
TESTS += tests/scripts/plots.sh
EXTRA_DIST += tests/scripts/plots.sh
tests_check_gnuplot_SOURCES = tests/check_gnuplot.c
tests_check_gnuplot_LDADD = $(app_tests)
# Every plot on one sheet, to be looked at: gallery/index.html (minutes; real data where they are).
.PHONY: gallery
gallery: gpdesk$(EXEEXT)
	@data='$(abs_top_srcdir)/../shared/data/airfoil'; \
	if test -r "$$data/data.csv.gz" && test -z "$$DATA"; then \
	  DATA="open $$data/data.csv.gz target=y; split test=20% seed=7"; export DATA; fi; \
	GPDESK='$(abs_top_builddir)/gpdesk' $(SHELL) '$(abs_top_srcdir)/share/examples/gallery.sh' gallery
CLEANFILES += gallery/*
