# SPDX-License-Identifier: BSD-3-Clause
# local.mk - pages that are installed with the library.
dist_doc_DATA += \
  %D%/codestyle.md \
  %D%/environment.md
