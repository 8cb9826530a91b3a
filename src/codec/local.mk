# SPDX-License-Identifier: BSD-3-Clause
# src/codec/local.mk - the codec room. A codec is one file, one line in codecs.def and one line here.
libwring_core_la_SOURCES += \
	%D%/codec.hpp \
	%D%/codecs.def \
	%D%/registry.cpp \
	%D%/spec.cpp \
	%D%/support.hpp \
	%D%/frame.hpp \
	%D%/frame.cpp \
	%D%/none.cpp \
	%D%/cast16.hpp \
	%D%/fp16.cpp \
	%D%/bf16.cpp \
	%D%/block_quant.hpp \
	%D%/block_quant.cpp \
	%D%/int8.cpp \
	%D%/int4.cpp
EXTRA_DIST += %D%/README.md
