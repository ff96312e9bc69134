# tests of the CUDA backend that need no device: its driver and its kernels over an emulated one, in a
# program and as a module that the scripts open; and modules that are none
emulated_cuda = src/cuda/backend.c src/cuda/program.c tests/emulated_device.c \
  tests/emulated_device.h
if HAVE_CHECK
check_PROGRAMS += tests/check_cuda_host
TESTS += tests/check_cuda_host
endif
tests_check_cuda_host_SOURCES = tests/check_cuda_host.c $(emulated_cuda)
tests_check_cuda_host_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_check_cuda_host_LDADD = $(compute_tests)

cuda_cc = $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) \
  -I$(top_srcdir)/tests -fPIC -fvisibility=hidden
tests/emulated.so: tests/emulated_device.c tests/emulated_device.h $(cuda_pic)
	$(AM_V_CCLD)$(MKDIR_P) tests && $(cuda_cc) -shared -o $@ \
	  `test -f tests/emulated_device.c || echo '$(srcdir)/'`tests/emulated_device.c $(cuda_pic) -lm
tests/wrong_abi.so: tests/wrong_abi.c src/compute/backend.h
	$(AM_V_CCLD)$(MKDIR_P) tests && $(cuda_cc) -fvisibility=default -shared -o $@ \
	  `test -f tests/wrong_abi.c || echo '$(srcdir)/'`tests/wrong_abi.c
tests/no_entry.so: tests/wrong_abi.c src/compute/backend.h
	$(AM_V_CCLD)$(MKDIR_P) tests && $(cuda_cc) -DNO_ENTRY -shared -o $@ \
	  `test -f tests/wrong_abi.c || echo '$(srcdir)/'`tests/wrong_abi.c
cuda_modules = tests/emulated.so tests/wrong_abi.so tests/no_entry.so
check_DATA = $(cuda_modules)
CLEANFILES += $(cuda_modules)
TESTS += tests/scripts/device.sh
EXTRA_DIST += tests/scripts/device.sh tests/wrong_abi.c
