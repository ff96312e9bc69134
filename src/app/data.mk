# reading data: scanner, tables, roles, encoding, splits, bundled data
libapp_a_SOURCES += \
  src/app/cache.c \
  src/app/cache.h \
  src/app/dataset.c \
  src/app/dataset.h \
  src/app/demo.c \
  src/app/demo_molecules.c \
  src/app/demo_molecules.h \
  src/app/demo_proteins.c \
  src/app/demo_proteins.h \
  src/app/encoding.c \
  src/app/encoding_json.c \
  src/app/import.c \
  src/app/import.h \
  src/app/import_csv.c \
  src/app/import_csv.h \
  src/app/import_fasta.c \
  src/app/import_npy.c \
  src/app/import_npy.h \
  src/app/import_sniff.c \
  src/app/import_stream.c \
  src/app/import_hdf5.c \
  src/app/letters.c \
  src/app/letters.h \
  src/app/nodes.c \
  src/app/nodes.h \
  src/app/npy.h \
  src/app/numbers.c \
  src/app/numbers.h \
  src/app/order.c \
  src/app/order.h \
  src/app/parts.c \
  src/app/parts.h \
  src/app/scan_number.c \
  src/app/sequence.c \
  src/app/sequence.h \
  src/app/split.c \
  src/app/summary.c \
  src/app/table.c \
  src/app/table.h \
  src/app/variants.c \
  src/app/variants.h

# The bundled series is compiled in, so that it is there without an installation.
bundleddir = $(pkgdatadir)/data
dist_bundled_DATA = share/data/co2.csv
BUILT_SOURCES += src/app/co2_data.h
CLEANFILES += src/app/co2_data.h
src/app/co2_data.h: $(srcdir)/share/data/co2.csv
	$(AM_V_GEN)$(MKDIR_P) src/app && $(AWK) -F, '/^[0-9]/ { printf "{ %s, %s },\n", $$1, $$2 }' \
	  $(srcdir)/share/data/co2.csv > $@.tmp && mv -f $@.tmp $@
src/app/demo.$(OBJEXT): src/app/co2_data.h

dist_doc_DATA += share/doc/data.md share/doc/sequences.md
