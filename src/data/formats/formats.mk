# readers of files: one file a format
libdata_a_SOURCES += \
  src/data/formats/csv_cell.c \
  src/data/formats/csv_cell.h \
  src/data/formats/format.c \
  src/data/formats/format.h \
  src/data/formats/hdf5_calls.h \
  src/data/formats/import.c \
  src/data/formats/import.h \
  src/data/formats/import_arff.c \
  src/data/formats/import_csv.c \
  src/data/formats/import_csv.h \
  src/data/formats/import_fasta.c \
  src/data/formats/import_hdf5.c \
  src/data/formats/import_npy.c \
  src/data/formats/import_npy.h \
  src/data/formats/import_csv_sniff.c \
  src/data/formats/import_smi.c \
  src/data/formats/import_sqlite.c \
  src/data/formats/import_stream.c \
  src/data/formats/npy_set.c \
  src/data/formats/npy_set.h \
  src/data/formats/scan_date.c \
  src/data/formats/scan_number.c
