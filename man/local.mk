# SPDX-License-Identifier: BSD-3-Clause
# local.mk - manual pages: tools (1), functions (3), overview (7).
dist_man_MANS += \
  %D%/man1/wring_info.1 \
  %D%/man1/wring_perf.1 \
  %D%/man3/MPIX_Allreduce_compressed.3 \
  %D%/man3/MPIX_Allreduce_compressed_c.3 \
  %D%/man3/MPIX_Allreduce_compressed_init.3 \
  %D%/man3/MPIX_Allreduce_compressed_init_c.3 \
  %D%/man3/MPIX_Codec_create.3 \
  %D%/man3/MPIX_Codec_free.3 \
  %D%/man3/MPIX_Codec_to_string.3 \
  %D%/man3/MPIX_Iallreduce_compressed.3 \
  %D%/man3/MPIX_Iallreduce_compressed_c.3 \
  %D%/man3/MPIX_Plan_describe.3 \
  %D%/man3/MPIX_Plan_free.3 \
  %D%/man3/MPIX_Plan_get_stats.3 \
  %D%/man3/MPIX_Plan_request.3 \
  %D%/man3/MPIX_Plan_start.3 \
  %D%/man3/MPIX_Plan_startall.3 \
  %D%/man3/MPIX_Plan_test.3 \
  %D%/man3/MPIX_Plan_wait.3 \
  %D%/man3/MPIX_Plan_waitall.3 \
  %D%/man3/WRING_Get_version.3 \
  %D%/man3/WRING_Op_avg.3 \
  %D%/man3/WRING_Type_bfloat16.3 \
  %D%/man3/WRING_Type_float16.3 \
  %D%/man7/wring.7
