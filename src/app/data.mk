# reading data: scanner, tables, roles, encoding, splits, bundled data
libapp_a_SOURCES += \
  src/app/dataset.c \
  src/app/dataset.h \
  src/app/encoding.c \
  src/app/import.c \
  src/app/import.h \
  src/app/import_csv.c \
  src/app/import_csv.h \
  src/app/import_npy.c \
  src/app/import_sniff.c \
  src/app/import_stream.c \
  src/app/scan_number.c \
  src/app/split.c \
  src/app/table.c \
  src/app/table.h
