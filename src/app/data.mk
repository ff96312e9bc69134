# reading data: scanner, tables, roles, encoding, splits, bundled data
libapp_a_SOURCES += \
  src/app/dataset.h \
  src/app/table.h
