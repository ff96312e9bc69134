# data: what a table is and where it comes from.  Knows base, and of compute sources and kernels.
noinst_LIBRARIES += libdata.a
libdata_a_SOURCES =
libdata_a_SOURCES += \
  src/data/beside.c \
  src/data/beside.h \
  src/data/cache.c \
  src/data/cache.h \
  src/data/calendar.c \
  src/data/calendar.h \
  src/data/candidates.c \
  src/data/candidates.h \
  src/data/checksum.c \
  src/data/checksum.h \
  src/data/classes.c \
  src/data/classes.h \
  src/data/dataset.c \
  src/data/dataset.h \
  src/data/encode.c \
  src/data/encode_group.h \
  src/data/encoding.c \
  src/data/encoding.h \
  src/data/encoding_column.c \
  src/data/encoding_column.h \
  src/data/encoding_fit.c \
  src/data/encoding_json.c \
  src/data/encoding_moments.c \
  src/data/encoding_moments.h \
  src/data/expr.c \
  src/data/expr.h \
  src/data/expr_eval.c \
  src/data/expr_impl.h \
  src/data/expr_source.c \
  src/data/expr_source.h \
  src/data/import_file.c \
  src/data/import_option.c \
  src/data/import_option.h \
  src/data/join.c \
  src/data/join.h \
  src/data/json.c \
  src/data/json.h \
  src/data/mapped_array.c \
  src/data/mapped_array.h \
  src/data/npy.c \
  src/data/npy.h \
  src/data/page_use.c \
  src/data/page_use.h \
  src/data/prepare.c \
  src/data/prepare.h \
  src/data/prepare_rows.c \
  src/data/prepare_rows.h \
  src/data/radix_sort.c \
  src/data/radix_sort.h \
  src/data/row_set.c \
  src/data/row_set.h \
  src/data/split.c \
  src/data/split_by.c \
  src/data/split_by.h \
  src/data/summary.c \
  src/data/table.c \
  src/data/table.h
include $(srcdir)/src/data/formats/formats.mk
include $(srcdir)/src/data/kinds/kinds.mk
include $(srcdir)/src/data/demo/demo.mk
include $(srcdir)/src/data/molecules/molecules.mk

dist_doc_DATA += share/doc/data.md share/doc/sequences.md
