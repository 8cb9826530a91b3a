# SPDX-License-Identifier: BSD-3-Clause
# src/kernels/local.mk - the kernel room. HAVE_HWY in config.h says whether simd/ compiles to anything.
libwring_core_la_SOURCES += \
	%D%/kernels.hpp \
	%D%/half.hpp \
	%D%/philox.hpp \
	%D%/quant.hpp \
	%D%/crc32c.hpp \
	%D%/crc32c.cpp \
	%D%/reference.cpp \
	%D%/best.cpp \
	%D%/simd/simd.hpp \
	%D%/simd/lanes_body.hpp \
	%D%/simd/philox_body.hpp \
	%D%/simd/arith.cpp \
	%D%/simd/cast16.cpp \
	%D%/simd/crc32c.cpp \
	%D%/simd/quant.cpp \
	%D%/simd/table.cpp
EXTRA_DIST += %D%/README.md
