# Benchmarks: data-sized jobs that print figures; never part of `make check`.
#   bench_programs += tests/bench/x      (built by `make bench`)
#   bench_scripts += tests/bench/x.sh    (run in order by `make bench`)
bench_programs =
bench_scripts = tests/bench/jobs.sh

.PHONY: bench
bench: gpdesk$(EXEEXT) $(bench_programs)
	@test -n "$(bench_scripts)" || echo "no benchmark is listed in tests/bench/local.mk"
	@for s in $(bench_scripts); do \
	  echo "== $$s"; \
	  top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' \
	    GPDESK='$(abs_top_builddir)/gpdesk' $(SHELL) $(srcdir)/$$s || exit 1; \
	done
