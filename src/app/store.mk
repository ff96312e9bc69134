# session files
libapp_a_SOURCES += \
  src/app/store.h
