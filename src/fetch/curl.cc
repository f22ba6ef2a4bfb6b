#include "fetch/curl.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>

namespace doppel {
namespace {

int is_cancelled(void* flag, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(flag)->load() ? 1 : 0;
}

// Where systems keep the certificates that they trust: Debian, RHEL and Fedora, SUSE. A program that was
// built on one of them runs on the others, too. nullptr: in none of these places.
const char* certificates() {
  static constexpr const char* kPlaces[] = {"/etc/ssl/certs/ca-certificates.crt",
                                            "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"};
  const auto* const found = std::find_if(std::begin(kPlaces), std::end(kPlaces),
                                         [](const char* place) { return access(place, R_OK) == 0; });
  return found == std::end(kPlaces) ? nullptr : *found;
}

}  // namespace

void start_curl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

void set_request(CURL* curl, const std::string& url, const std::atomic<bool>* cancel) {
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  if (const char* file = certificates(); file != nullptr) curl_easy_setopt(curl, CURLOPT_CAINFO, file);
  if (cancel == nullptr) return;
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, cancel);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_cancelled);
}

const char* answer_header(CURL* curl, const char* name) {
  curl_header* found = nullptr;
  return curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK ? found->value : nullptr;
}

bool may_pass(long status) { return status == 408 || status == 429 || status >= 500; }

std::string path_part(std::string_view text) {
  const std::unique_ptr<char, void (*)(void*)> out(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), curl_free);
  return out ? out.get() : "";
}

}  // namespace doppel
