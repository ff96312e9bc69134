# Benchmarks: data-sized jobs that print figures; never part of `make check`.
#   bench_programs += tests/bench/x      (built by `make bench`)
#   bench_scripts += tests/bench/x.sh    (run in order by `make bench`)
bench_programs = tests/bench/bench_compute tests/bench/bench_solve tests/bench/bench_csv
bench_scripts = tests/bench/compute.sh tests/bench/solve.sh tests/bench/csv.sh tests/bench/jobs.sh

EXTRA_PROGRAMS += $(bench_programs)
tests_bench_bench_compute_SOURCES = tests/bench/bench_compute.c
tests_bench_bench_compute_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
tests_bench_bench_solve_SOURCES = tests/bench/bench_solve.c
tests_bench_bench_solve_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
tests_bench_bench_csv_SOURCES = tests/bench/bench_csv.c
tests_bench_bench_csv_LDADD = libapp.a libcompute.a libbase.a $(APP_LIBS) $(COMPUTE_LIBS)
bench_programs += tests/bench/bench_rows
tests_bench_bench_rows_SOURCES = tests/bench/bench_rows.c
tests_bench_bench_rows_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
EXTRA_DIST += $(bench_scripts) tests/bench/peers.py tests/bench/accuracy.sh tests/bench/accuracy.md
CLEANFILES += tests/bench/compute.json

.PHONY: bench
bench: gpdesk$(EXEEXT) $(bench_programs)
	@test -n "$(bench_scripts)" || echo "no benchmark is listed in tests/bench/local.mk"
	@for s in $(bench_scripts); do \
	  echo "== $$s"; \
	  top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' \
	    GPDESK='$(abs_top_builddir)/gpdesk' $(SHELL) $(srcdir)/$$s || exit 1; \
	done

# The compute core alone: tune, fit and score one data set (see the head of the file).
EXTRA_PROGRAMS += tests/bench/bench_gp
tests_bench_bench_gp_SOURCES = tests/bench/bench_gp.c
tests_bench_bench_gp_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
