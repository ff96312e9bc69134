# Benchmarks: never part of `make check`.  `make bench` writes bench/bench.json, bench.txt and
# machine.json in the build directory; `make bench-jobs` runs the data-sized jobs (minutes each).
#   bench_programs += tests/bench/x   (built by both)
bench_report = tests/bench/report.c tests/bench/report.h
bench_programs = tests/bench/bench_machine tests/bench/bench_compute tests/bench/bench_solve \
  tests/bench/bench_memory tests/bench/bench_csv tests/bench/bench_rows tests/bench/bench_windows \
  tests/bench/bench_products tests/bench/bench_tanimoto tests/bench/bench_inducing \
  tests/bench/bench_scaling tests/bench/bench_learn

EXTRA_PROGRAMS += $(bench_programs)
tests_bench_bench_machine_SOURCES = tests/bench/bench_machine.c $(bench_report)
tests_bench_bench_machine_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
tests_bench_bench_compute_SOURCES = tests/bench/bench_compute.c $(bench_report)
tests_bench_bench_compute_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
tests_bench_bench_solve_SOURCES = tests/bench/bench_solve.c $(bench_report)
tests_bench_bench_solve_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
tests_bench_bench_memory_SOURCES = tests/bench/bench_memory.c $(bench_report)
tests_bench_bench_memory_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
tests_bench_bench_csv_SOURCES = tests/bench/bench_csv.c
tests_bench_bench_csv_LDADD = $(app_archives) libfigure.a libdata.a libcompute.a libbase.a \
  $(APP_LIBS) $(COMPUTE_LIBS)
tests_bench_bench_rows_SOURCES = tests/bench/bench_rows.c
tests_bench_bench_rows_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
tests_bench_bench_windows_SOURCES = tests/bench/bench_windows.c $(bench_report)
tests_bench_bench_windows_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
tests_bench_bench_products_SOURCES = tests/bench/bench_products.c $(bench_report)
tests_bench_bench_products_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
tests_bench_bench_tanimoto_SOURCES = tests/bench/bench_tanimoto.c $(bench_report)
tests_bench_bench_tanimoto_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
tests_bench_bench_inducing_SOURCES = tests/bench/bench_inducing.c $(bench_report)
tests_bench_bench_inducing_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
tests_bench_bench_learn_SOURCES = tests/bench/bench_learn.c $(bench_report)
tests_bench_bench_learn_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
tests_bench_bench_scaling_SOURCES = tests/bench/bench_scaling.c $(bench_report)
tests_bench_bench_scaling_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
# The compute core alone: tune, fit and score one data set (see the head of the file).
EXTRA_PROGRAMS += tests/bench/bench_gp
tests_bench_bench_gp_SOURCES = tests/bench/bench_gp.c
tests_bench_bench_gp_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
# A run of 100,000 trace points as a picture.
EXTRA_PROGRAMS += tests/bench/bench_plot
tests_bench_bench_plot_SOURCES = tests/bench/bench_plot.c
tests_bench_bench_plot_LDADD = $(app_archives) libfigure.a libdata.a libcompute.a libbase.a \
  $(APP_LIBS) $(COMPUTE_LIBS)
EXTRA_DIST += tests/bench/run.sh tests/bench/jobs.sh tests/bench/parity.sh tests/bench/csv.sh \
  tests/bench/peers.py tests/bench/peers.md tests/bench/ffht_loops.c \
  tests/bench/accuracy.sh tests/bench/accuracy.md tests/bench/jobs.md tests/bench/README.md \
  tests/bench/floors.md tests/bench/coverage.sh tests/bench/coverage.md \
  tests/bench/nn.sh tests/bench/nn.md tests/bench/ranks.sh \
  tests/bench/dual.sh tests/bench/dual.md tests/bench/learned.sh tests/bench/learned.md \
  tests/bench/labels.sh tests/bench/labels.md tests/bench/motifs.sh tests/bench/motifs.md \
  tests/bench/sequences.sh tests/bench/sequences.md tests/bench/screen.sh \
  tests/bench/advise.sh tests/bench/causes.sh tests/bench/classes.md tests/bench/classes.sh \
  tests/bench/forecast.md tests/bench/forecast.sh tests/bench/mend.sh tests/bench/molecules.md \
  tests/bench/molecules.sh tests/bench/onecore.sh tests/bench/scaling.md tests/bench/smiles.sh \
  tests/bench/why.sh
CLEANFILES += bench/bench.json bench/bench.txt bench/machine.json

bench_environment = top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' \
  GPDESK='$(abs_top_builddir)/gpdesk' GPDESK_VERSION='$(PACKAGE_VERSION)' \
  GPDESK_CC="`$(CC) --version | sed 1q`, $(CFLAGS)"
.PHONY: bench bench-jobs
bench: gpdesk$(EXEEXT) $(bench_programs)
	@$(bench_environment) $(SHELL) $(srcdir)/tests/bench/run.sh '$(abs_top_builddir)/bench'
bench-jobs: gpdesk$(EXEEXT) $(bench_programs)
	@for s in csv.sh jobs.sh; do \
	  echo "== $$s"; $(bench_environment) $(SHELL) $(srcdir)/tests/bench/$$s || exit 1; \
	done
