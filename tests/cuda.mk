# tests of the CUDA backend that need no device: its driver and its kernels over an emulated one, in
# a program and as a module that the scripts open; and modules that are none
emulated_cuda = $(cuda_driver) tests/emulated_device.c \
  tests/emulated_device.h
if HAVE_CHECK
check_PROGRAMS += tests/check_cuda_host
TESTS += tests/check_cuda_host
endif
cuda_host = tests/check_cuda_host.c tests/cuda/operators.c tests/cuda/solves.c \
  tests/cuda/maps.c tests/cuda/pair.c tests/cuda/pair.h
tests_check_cuda_host_SOURCES = $(cuda_host) $(emulated_cuda)
tests_check_cuda_host_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests -I$(top_srcdir)/tests/cuda
tests_check_cuda_host_LDADD = $(compute_tests)

cuda_cc = $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) \
  -I$(top_srcdir)/tests -fPIC -fvisibility=hidden
tests/emulated.so: tests/emulated_device.c tests/emulated_device.h $(cuda_pic)
	$(AM_V_CCLD)$(MKDIR_P) tests && $(cuda_cc) -shared -o $@ \
	  `test -f tests/emulated_device.c || echo '$(srcdir)/'`tests/emulated_device.c $(cuda_pic) -lm
tests/wrong_abi.so: tests/cuda/wrong_abi.c src/compute/backend.h
	$(AM_V_CCLD)$(MKDIR_P) tests && $(cuda_cc) -fvisibility=default -shared -o $@ \
	  `test -f tests/cuda/wrong_abi.c || echo '$(srcdir)/'`tests/cuda/wrong_abi.c
tests/no_entry.so: tests/cuda/wrong_abi.c src/compute/backend.h
	$(AM_V_CCLD)$(MKDIR_P) tests && $(cuda_cc) -DNO_ENTRY -shared -o $@ \
	  `test -f tests/cuda/wrong_abi.c || echo '$(srcdir)/'`tests/cuda/wrong_abi.c
cuda_modules = tests/emulated.so tests/wrong_abi.so tests/no_entry.so
check_DATA += $(cuda_modules)
CLEANFILES += $(cuda_modules)
TESTS += tests/scripts/device.sh
EXTRA_DIST += tests/scripts/device.sh tests/cuda/wrong_abi.c

# Where a device is: make check-cuda, check-cuda-sanitizer, bench-cuda (tests/cuda/README.md). 
# Without one each says so and succeeds.
EXTRA_PROGRAMS += tests/cuda/check_cuda
tests_cuda_check_cuda_SOURCES = $(cuda_host) tests/emulated_device.h
tests_cuda_check_cuda_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests -I$(top_srcdir)/tests/cuda \
  -DON_DEVICE
tests_cuda_check_cuda_LDADD = $(compute_tests)
EXTRA_DIST += tests/cuda/README.md tests/cuda/bench_cuda.c tests/cuda/bench_peer.cu \
  tests/cuda/bench_peer.h tests/cuda/jobs.sh tests/cuda/pack.sh tests/cuda/peers_cuda.py
CLEANFILES += bench_cuda.json peers_cuda.json tests/cuda/bench_cuda tests/cuda/bench_peer.o \
  tests/cuda/bench_main.o \
  $(EXTRA_PROGRAMS)
.PHONY: check-cuda check-cuda-sanitizer bench-cuda
if HAVE_NVCC
tests/cuda/bench_peer.o: tests/cuda/bench_peer.cu tests/cuda/bench_peer.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(NVCC) -O3 -std=c++17 $(CUDA_ARCH) -I$(top_srcdir) -c -o $@ \
	  `test -f tests/cuda/bench_peer.cu || echo '$(srcdir)/'`tests/cuda/bench_peer.cu
tests/cuda/bench_main.o: tests/cuda/bench_cuda.c tests/cuda/bench_peer.h src/compute/backend.h
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(cuda_cc) -I$(top_srcdir) -c -o $@ \
	  `test -f tests/cuda/bench_cuda.c || echo '$(srcdir)/'`tests/cuda/bench_cuda.c
tests/cuda/bench_cuda: tests/cuda/bench_main.o tests/cuda/bench_peer.o libcompute.a libbase.a
	$(AM_V_CCLD)$(NVCC) --cudart static $(CUDA_ARCH) $(CUDA_LDFLAGS) -o $@ \
	  tests/cuda/bench_main.o tests/cuda/bench_peer.o libcompute.a libbase.a -lcublas \
	  $(COMPUTE_LIBS:-pthread=) -lpthread
check-cuda: gpdesk libgpdesk-cuda.so tests/cuda/check_cuda
	GPDESK_CUDA_MODULE=`pwd`/libgpdesk-cuda.so tests/cuda/check_cuda
	GPDESK_CUDA_MODULE=`pwd`/libgpdesk-cuda.so $(SHELL) $(srcdir)/tests/cuda/jobs.sh `pwd`/gpdesk
check-cuda-sanitizer: libgpdesk-cuda.so tests/cuda/check_cuda
	for tool in memcheck racecheck initcheck synccheck; do \
	  GPDESK_CUDA_MODULE=`pwd`/libgpdesk-cuda.so GPDESK_CUDA_SMALL=1 compute-sanitizer --tool $$tool \
	    --error-exitcode 1 tests/cuda/check_cuda || exit 1; done
bench-cuda: gpdesk libgpdesk-cuda.so tests/cuda/bench_cuda
	GPDESK_CUDA_MODULE=`pwd`/libgpdesk-cuda.so GPDESK_BENCH_JSON=bench_cuda.json tests/cuda/bench_cuda
	GPDESK_CUDA_MODULE=`pwd`/libgpdesk-cuda.so python3 $(srcdir)/tests/cuda/peers_cuda.py \
	  --gpdesk `pwd`/gpdesk --shared $(abs_top_srcdir)/../shared || echo 'peers left out: see above'
else
check-cuda check-cuda-sanitizer bench-cuda:
	@echo '$@ skipped: this build has no nvcc'
endif
