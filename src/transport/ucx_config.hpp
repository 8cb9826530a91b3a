// SPDX-License-Identifier: BSD-3-Clause
// ucx_config.hpp - UCX as the ucx transport wants it configured, and what UCX tells about itself.
#pragma once

#include <ucp/api/ucp.h>

#include "base/status.hpp"

namespace wring::transport::ucx_impl {

Status ucx_error(const char* what, ucs_status_t status) noexcept;

/// Makes a context with our defaults, which UCX_ variables of the environment override.
Status make_context(ucp_context_h& out) noexcept;

/// Whether active messages of the endpoint go over tcp, or that cannot be told.
bool uses_tcp(ucp_ep_h endpoint) noexcept;

}  // namespace wring::transport::ucx_impl
