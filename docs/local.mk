# SPDX-License-Identifier: BSD-3-Clause
# local.mk - pages that are installed with the library.
dist_doc_DATA += \
  %D%/adding-a-codec.md \
  %D%/adding-a-transport.md \
  %D%/adding-an-algorithm.md \
  %D%/architecture.md \
  %D%/codecs.md \
  %D%/codestyle.md \
  %D%/environment.md \
  %D%/performance.md \
  %D%/plans.md \
  %D%/train_fashion.png \
  %D%/tuning.md \
  %D%/tuning.schema.json \
  %D%/wire-format.md
