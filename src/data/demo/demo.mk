# bundled and generated data
libdata_a_SOURCES += \
  src/data/demo/demo.c \
  src/data/demo/demo_molecules.c \
  src/data/demo/demo_molecules.h \
  src/data/demo/demo_motifs.c \
  src/data/demo/demo_motifs.h \
  src/data/demo/demo_proteins.c \
  src/data/demo/demo_proteins.h

# The bundled series is compiled in, so that it is there without an installation.
bundleddir = $(pkgdatadir)/data
dist_bundled_DATA = share/data/co2.csv
BUILT_SOURCES += src/data/demo/co2_data.h
CLEANFILES += src/data/demo/co2_data.h
src/data/demo/co2_data.h: $(srcdir)/share/data/co2.csv
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(AWK) -F, '/^[0-9]/ { printf "{ %s, %s },\n", $$1, $$2 }' \
	  $(srcdir)/share/data/co2.csv > $@.tmp && mv -f $@.tmp $@
src/data/demo/demo.$(OBJEXT): src/data/demo/co2_data.h
