// SPDX-License-Identifier: BSD-3-Clause
// ucx_config.cpp - UCX as the ucx transport wants it configured.
//
// Settings were chosen with UCX 1.13.1 and tried with 1.22.0; the comments give their reasons.
#include "transport/ucx_config.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include "base/log.hpp"
#include "transport/ucx_worker.hpp"

namespace wring::transport::ucx_impl {
namespace {

using Names = std::initializer_list<const char*>;

/// A default that differs from UCX's own.
struct Setting {
  Names transports;  ///< it is for any of these, as in UCX's list of resources; none: for UCP
  const char* key;   ///< for ucp_config_modify
  const char* value;
  Names variables;  ///< any of these in the environment wins
};

constexpr const char* kSegmentText = "278528";
static_assert(kSegmentBytes == 278528);

/// UCX up to 1.13 wants a segment size's name without the transport, later ones with it.
const char* segment_key(const char* key) noexcept {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  return major == 1 && minor <= 13 ? key + 4 : key;
}

/// What one of UCX's functions prints about an object; its only way to tell.
template <class Handle>
std::string printed(void (*print)(Handle, std::FILE*), Handle handle) {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* stream = open_memstream(&text, &bytes);
  if (stream == nullptr) return {};
  print(handle, stream);
  std::fclose(stream);
  std::string result(text, bytes);
  std::free(text);
  return result;
}

void apply_settings(ucp_config_t* config, const std::string& resources) noexcept {
  const Setting settings[] = {
      // One fragment a frame. UCX's 8 KiB fragments take 2-3 times the processor time, its
      // rendezvous half of the bandwidth where both directions are loaded.
      {{"tcp/"}, segment_key("TCP_TX_SEG_SIZE"), kSegmentText, {"UCX_TCP_TX_SEG_SIZE"}},
      {{"tcp/"}, segment_key("TCP_RX_SEG_SIZE"), kSegmentText, {"UCX_TCP_RX_SEG_SIZE"}},
      // In shared memory UCX keeps a segment's length in 16 bits. 65000 bytes instead of 8256:
      // frames of 256 KiB in both directions take 55 us instead of 160.
      {{"posix/", "sysv/"},
       "MM_SEG_SIZE",
       "65000",
       {"UCX_MM_SEG_SIZE", "UCX_POSIX_SEG_SIZE", "UCX_SYSV_SEG_SIZE"}},
      // Segments allocated at once. UCX's 512 would be 33 MB for each kind of shared memory.
      {{"posix/", "sysv/"},
       "MM_RX_BUFS_GROW",
       "96",
       {"UCX_MM_RX_BUFS_GROW", "UCX_POSIX_RX_BUFS_GROW", "UCX_SYSV_RX_BUFS_GROW"}},
      // Without it, endpoints with peer error handling silently leave out shared memory: 7.8 us
      // instead of 0.18 at 8 bytes.
      {{"posix/", "sysv/"},
       "MM_ERROR_HANDLING",
       "y",
       {"UCX_MM_ERROR_HANDLING", "UCX_POSIX_ERROR_HANDLING", "UCX_SYSV_ERROR_HANDLING"}},
      // In shared memory only this notices that a peer is dead. UCX's own value is 20 s.
      {{}, "KEEPALIVE_INTERVAL", "1s", {"UCX_KEEPALIVE_INTERVAL"}},
      // Whatever the environment says: the end of a send rests on it (ucx_channel.cpp).
      {{}, "ZCOPY_THRESH", "auto", {}},
  };
  const auto present = [&](const char* name) { return resources.find(name) != std::string::npos; };
  const auto set = [](const char* name) { return std::getenv(name) != nullptr; };
  for (const Setting& setting : settings) {
    const Names& fabrics = setting.transports;
    if (fabrics.size() != 0 && std::none_of(fabrics.begin(), fabrics.end(), present)) continue;
    if (std::any_of(setting.variables.begin(), setting.variables.end(), set)) continue;
    const ucs_status_t status = ucp_config_modify(config, setting.key, setting.value);
    if (status == UCS_OK) continue;
    log(LogLevel::debug, "ucx: %s=%s was refused: %s", setting.key, setting.value,
        ucs_status_string(status));
  }
}

}  // namespace

Status ucx_error(const char* what, ucs_status_t status) noexcept {
  return fail(Code::transport_error, status, "ucx: %s: %s", what, ucs_status_string(status));
}

Status make_context(ucp_context_h& out) noexcept {
  ucp_config_t* config = nullptr;
  if (ucs_status_t status = ucp_config_read(nullptr, nullptr, &config); status != UCS_OK) {
    return ucx_error("cannot read its configuration", status);
  }
  ucp_params_t params;
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.name = "wring";
  // Twice (1 ms each): UCX warns about settings for transports that it then does not use, so the
  // first context tells which there are.
  ucp_context_h context = nullptr;
  ucs_status_t status = ucp_init(&params, config, &context);
  if (status == UCS_OK) {
    apply_settings(config, printed(ucp_context_print_info, context));
    ucp_cleanup(context);
    status = ucp_init(&params, config, &context);
  }
  ucp_config_release(config);
  if (status != UCS_OK) return ucx_error("cannot start", status);
  out = context;
  return {};
}

/// Looks for a line such as
/// "#  lane[0]:  3:sysv/memory.0 md[2]  -> md[2]/sysv/sysdev[255] am am_bw#0 keepalive".
bool uses_tcp(ucp_ep_h endpoint) noexcept {
  const std::string text = printed(ucp_ep_print_info, endpoint);
  for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin) + " ";
    if (line.find("lane[") == std::string::npos || line.find(" am ") == std::string::npos) continue;
    return line.find(":tcp/") != std::string::npos;
  }
  return true;
}

}  // namespace wring::transport::ucx_impl
