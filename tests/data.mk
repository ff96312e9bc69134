# tests of the data group
data_checks = tests/check_import tests/check_dataset tests/check_demo tests/check_spill \
  tests/check_parts tests/check_sequence tests/check_prepare \
  tests/check_formats
if HAVE_CHECK
check_PROGRAMS += $(data_checks)
TESTS += $(data_checks)
endif
tests_check_import_SOURCES = tests/check_import.c
tests_check_import_LDADD = $(app_tests)
tests_check_dataset_SOURCES = tests/check_dataset.c
tests_check_dataset_LDADD = $(app_tests)
tests_check_demo_SOURCES = tests/check_demo.c
tests_check_demo_LDADD = $(app_tests)
tests_check_spill_SOURCES = tests/check_spill.c
tests_check_spill_LDADD = $(app_tests)
tests_check_parts_SOURCES = tests/check_parts.c
tests_check_parts_CFLAGS = $(AM_CFLAGS) $(HDF5_CFLAGS)
tests_check_parts_LDADD = $(app_tests) $(HDF5_LIBS)
tests_check_formats_SOURCES = tests/check_formats.c
tests_check_formats_LDADD = $(app_tests)
tests_check_prepare_SOURCES = tests/check_prepare.c
tests_check_prepare_LDADD = $(app_tests)
tests_check_sequence_SOURCES = tests/check_sequence.c
tests_check_sequence_LDADD = $(app_tests)

# Readers under any bytes: a few seconds here; `make fuzz` runs libFuzzer (clang) on each.
data_fuzz = tests/fuzz/fuzz_csv tests/fuzz/fuzz_npy tests/fuzz/fuzz_fasta tests/fuzz/fuzz_graph \
  tests/fuzz/fuzz_expr tests/fuzz/fuzz_counts tests/fuzz/fuzz_smi tests/fuzz/fuzz_json \
  tests/fuzz/fuzz_config tests/fuzz/fuzz_ranks tests/fuzz/fuzz_input tests/fuzz/fuzz_script \
  tests/fuzz/fuzz_session
check_PROGRAMS += $(data_fuzz)
TESTS += tests/fuzz/csv.sh tests/fuzz/npy.sh tests/fuzz/fasta.sh tests/fuzz/graph.sh \
  tests/fuzz/expr.sh tests/fuzz/counts.sh tests/fuzz/smi.sh tests/fuzz/json.sh \
  tests/fuzz/config.sh tests/fuzz/ranks.sh tests/fuzz/input.sh tests/fuzz/script.sh \
  tests/fuzz/session.sh
tests_fuzz_fuzz_csv_SOURCES = tests/fuzz/fuzz_csv.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_csv_LDADD = $(app_archives) libfigure.a libdata.a libcompute.a libbase.a \
  $(APP_LIBS) $(COMPUTE_LIBS)
tests_fuzz_fuzz_npy_SOURCES = tests/fuzz/fuzz_npy.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_npy_LDADD = $(app_archives) libfigure.a libdata.a libcompute.a libbase.a \
  $(APP_LIBS) $(COMPUTE_LIBS)
tests_fuzz_fuzz_fasta_SOURCES = tests/fuzz/fuzz_fasta.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_fasta_LDADD = $(app_archives) libfigure.a libdata.a libcompute.a libbase.a \
  $(APP_LIBS) $(COMPUTE_LIBS)
tests_fuzz_fuzz_graph_SOURCES = tests/fuzz/fuzz_graph.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_graph_LDADD = $(app_archives) libfigure.a libdata.a libcompute.a libbase.a \
  $(APP_LIBS) $(COMPUTE_LIBS)
tests_fuzz_fuzz_expr_SOURCES = tests/fuzz/fuzz_expr.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_expr_LDADD = $(app_archives) libfigure.a libdata.a libcompute.a libbase.a \
  $(APP_LIBS) $(COMPUTE_LIBS)
tests_fuzz_fuzz_counts_SOURCES = tests/fuzz/fuzz_counts.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_counts_LDADD = $(app_archives) libfigure.a libdata.a libcompute.a libbase.a \
  $(APP_LIBS) $(COMPUTE_LIBS)
tests_fuzz_fuzz_smi_SOURCES = tests/fuzz/fuzz_smi.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_smi_LDADD = $(app_archives) libfigure.a libdata.a libcompute.a libbase.a \
  $(APP_LIBS) $(COMPUTE_LIBS)
tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_json_LDADD = $(tests_fuzz_fuzz_smi_LDADD)
tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_config_LDADD = $(tests_fuzz_fuzz_smi_LDADD)
tests_fuzz_fuzz_ranks_SOURCES = tests/fuzz/fuzz_ranks.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_ranks_LDADD = libcompute.a libbase.a $(COMPUTE_LIBS)
EXTRA_DIST += tests/fuzz/smi tests/fuzz/smi.sh tests/fuzz/json tests/fuzz/json.sh \
  tests/fuzz/config tests/fuzz/config.sh tests/fuzz/ranks tests/fuzz/ranks.sh tests/fuzz/input \
  tests/fuzz/input.sh tests/fuzz/script tests/fuzz/script.sh tests/fuzz/session \
  tests/fuzz/session.sh
EXTRA_DIST += tests/fuzz/csv tests/fuzz/npy tests/fuzz/csv.sh tests/fuzz/npy.sh \
  tests/fuzz/fasta tests/fuzz/fasta.sh tests/fuzz/graph tests/fuzz/graph.sh \
  tests/fuzz/expr tests/fuzz/expr.sh tests/fuzz/counts tests/fuzz/counts.sh

# Every fuzzer for FUZZ_SECONDS each, one after the other; one that fails is named at the end and
# does not keep the others from running: `make fuzz FUZZ_SECONDS=60`, and of some alone
# `make fuzz FUZZERS='fasta graph' FUZZ_OTHERS=`.  FUZZERS: by libFuzzer under ASan and UBSan; what
# it finds new lies in fuzz/NAME of the build directory.  FUZZ_OTHERS: the tests with generators of
# their own, as this tree was configured (--enable-sanitize).
# fuzz-fast looks wider: without sanitizers, optimised, short inputs, five to ten times as many a
# second.  What it finds new lies where fuzz begins, which runs it under sanitizers.
# fuzz-coverage: how much of what FUZZ_SECONDS reach the corpus in the tree reaches.
FUZZERS = csv npy fasta graph expr counts smi molecules json ranks config input script rows session
FUZZ_OTHERS = $(srcdir)/tests/fuzz/runs.sh
FUZZ_CC = clang
FUZZ_SECONDS = 300
FUZZ_BYTES = 16384
FUZZ_SANITIZE = -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
FUZZ_FLAGS = -std=gnu11 $(FUZZ_SANITIZE) -D_GNU_SOURCE -DPKGDATADIR='"$(pkgdatadir)"' \
  -DPKGLIBDIR='"$(pkglibdir)"' -DPKGLIBEXECDIR='"$(pkglibexecdir)"' \
  -I$(abs_top_builddir) -I$(top_srcdir)/src -I$(top_srcdir)/tests -I$(top_srcdir)/tests/fuzz
# What is built with a fuzzer, to be counted: readers of files by all but the others.
fuzz_readers = src/base/buf.c src/base/mem.c src/base/spill.c src/base/status.c src/base/text.c \
  src/compute/ctl.c src/compute/rng.c $(filter %.c,$(libdata_a_SOURCES))
fuzz_rows = $(filter %.c,$(libsession_a_SOURCES)) tests/store_support.c tests/fuzz/rows.c
fuzz_shell = $(filter %.c,$(libshell_a_SOURCES))
fuzz_ranks = $(filter src/compute/ranks/%.c,$(libcompute_a_SOURCES))
# What these call beside, as it was built.
fuzz_libs = $(patsubst %,'$(abs_top_builddir)'/%,libui.a $(app_archives) libfigure.a libdata.a \
  libcompute.a libbase.a)
# fuzz_build, a command: builds the fuzzer $$f as fuzz/fuzz_$$f.
fuzz_build = $(MKDIR_P) fuzz/$$f && case $$f in \
    config | script) what='$(fuzz_shell)' ;; \
    input) what=src/ui/input.c ;; \
    ranks) what='$(fuzz_ranks)' ;; \
    rows | session) what='$(fuzz_rows)' ;; \
    *) what='$(fuzz_readers)' ;; \
  esac && \
  (cd $(srcdir) && $(FUZZ_CC) $(FUZZ_FLAGS:-I$(top_srcdir)%=-I.%) \
    -o '$(abs_top_builddir)'/fuzz/fuzz_$$f tests/fuzz/fuzz_$$f.c $$what \
    $(fuzz_libs) $(APP_LIBS) $(COMPUTE_LIBS))
fuzz_needs = libui.a $(app_archives) libfigure.a libdata.a libcompute.a libbase.a
.PHONY: fuzz fuzz-fast fuzz-coverage fuzz-edges
fuzz-fast:
	$(MAKE) fuzz FUZZ_OTHERS= FUZZ_BYTES=1024 FUZZ_SANITIZE='-g -O2 -fsanitize=fuzzer'
fuzz: $(fuzz_needs)
	@failed=; \
	for f in $(FUZZERS); do \
	  echo "== $$f, $(FUZZ_SECONDS) s"; $(fuzz_build) && \
	  fuzz/fuzz_$$f -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
	    -max_len=$(FUZZ_BYTES) -print_final_stats=1 \
	    -artifact_prefix=fuzz/ fuzz/$$f $(srcdir)/tests/fuzz/$$f || \
	    failed="$$failed $$f"; \
	done; \
	for f in $(FUZZ_OTHERS); do \
	  echo "== $$f, $(FUZZ_SECONDS) s"; \
	  FUZZ_SECONDS=$(FUZZ_SECONDS) top_srcdir=$(srcdir) top_builddir=. $$f || \
	    failed="$$failed $$f"; \
	done; \
	test -z "$$failed" || { echo "fuzz: failed:$$failed"; exit 1; }
fuzz-coverage:
	$(MAKE) fuzz-edges FUZZ_SECONDS=15 FUZZ_BYTES=16384 FUZZ_SANITIZE='-g -O2 -fsanitize=fuzzer'
fuzz-edges: $(fuzz_needs)
	@for f in $(FUZZERS); do \
	  $(fuzz_build) || exit 1; \
	  for seconds in 0 $(FUZZ_SECONDS); do \
	    rm -rf fuzz/$$f.new; $(MKDIR_P) fuzz/$$f.new; \
	    case $$seconds in 0) most=-runs=0 ;; *) most=-max_total_time=$$seconds ;; esac; \
	    fuzz/fuzz_$$f $$most -timeout=10 -rss_limit_mb=2048 -max_len=$(FUZZ_BYTES) \
	      -artifact_prefix=fuzz/ fuzz/$$f.new $(srcdir)/tests/fuzz/$$f 2>&1 | \
	      awk -v f=$$f -v s=$$seconds '/ cov: / { n = $$1; for (i = 1; i < NF; i++) \
	        if ($$i == "cov:") c = $$(i + 1) } \
	        END { print f ": " c " edges in " s " s, " n " executions" }'; \
	  done; \
	done

TESTS += tests/fuzz/runs.sh
EXTRA_DIST += tests/fuzz/runs.sh
TESTS += tests/scripts/data.sh tests/scripts/sequences.sh tests/scripts/counts.sh \
  tests/scripts/parts.sh tests/scripts/classes.sh tests/scripts/classes/likelihoods.sh \
  tests/scripts/classes/decisions.sh tests/scripts/classes/rows.sh \
  tests/scripts/labels.sh \
  tests/scripts/labels_calibrated.sh tests/scripts/labels_check.sh tests/scripts/domain.sh \
  tests/scripts/kinds.sh tests/scripts/prepare.sh tests/scripts/svm.sh
EXTRA_DIST += tests/scripts/data.sh tests/scripts/sequences.sh tests/scripts/counts.sh \
  tests/scripts/parts.sh tests/scripts/classes.sh tests/scripts/classes/likelihoods.sh \
  tests/scripts/classes/decisions.sh tests/scripts/classes/rows.sh \
  tests/scripts/labels.sh \
  tests/scripts/labels_calibrated.sh tests/scripts/labels_check.sh tests/scripts/domain.sh \
  tests/scripts/kinds.sh tests/scripts/prepare.sh tests/scripts/svm.sh
