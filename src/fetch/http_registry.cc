#include <fmt/format.h>

#include <fstream>
#include <set>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "fetch/curl.h"
#include "fetch/schema_registry.h"
#include "formats/schema/avro.h"
#include "formats/schema/registry_answer.h"

namespace doppel {
namespace {

constexpr size_t kMostBody = 16 << 20;
constexpr size_t kMostReferences = 1000;
constexpr int64_t kUnknownSchema = 40403;

// A body that a registry sends.
struct RegistryBody {
  std::string text;
  bool too_large = false;
};

size_t take_body(char* bytes, size_t one, size_t size, void* to) {
  auto* body = static_cast<RegistryBody*>(to);
  body->too_large = body->text.size() + one * size > kMostBody;
  if (body->too_large) return 0;
  body->text.append(bytes, one * size);
  return one * size;
}

bool is_about_trust(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
         code == CURLE_SSL_CONNECT_ERROR || code == CURLE_SSL_CERTPROBLEM;
}

class HttpRegistry final : public SchemaRegistry {
 public:
  HttpRegistry(RegistryOptions options, std::shared_ptr<const std::atomic<bool>> cancel)
      : options_(std::move(options)), cancel_(std::move(cancel)), curl_(nullptr, curl_easy_cleanup) {
    start_curl();
    for (std::string& url : options_.urls) {
      while (url.ends_with('/')) url.pop_back();
    }
  }

  absl::StatusOr<std::shared_ptr<const RecordSchema>> schema(uint32_t id) override {
    const std::string path = fmt::format("/schemas/ids/{}", id);
    ASSIGN_OR_RETURN(const RegistryAnswer answer, ask(path));
    if (answer.type != options_.type)
      return invalid(fmt::format("schema {} is {}, not {}", id, answer.type, options_.type));
    std::vector<std::string> definitions;
    std::set<std::string> seen;
    RETURN_IF_ERROR(collect(answer, seen, definitions));
    const std::vector<std::string_view> views(definitions.begin(), definitions.end());
    absl::StatusOr<std::shared_ptr<const RecordSchema>> parsed = make_avro_schema(views);
    if (parsed.ok()) return parsed;
    return invalid(fmt::format("schema {}: {}", id, std_sv(parsed.status().message())));
  }

  absl::StatusOr<std::string> reach() override {
    ASSIGN_OR_RETURN(const std::string types, get("/schemas/types"));
    return fmt::format("{}: a registry of {}", answered_, types);
  }

 private:
  // Appends the schemas that `answer` refers to, each after the schemas that it needs itself, and then its
  // own.
  absl::Status collect(const RegistryAnswer& answer, std::set<std::string>& seen,
                       std::vector<std::string>& definitions) {
    for (const RegistryAnswer::Reference& reference : answer.references) {
      const std::string path =
          fmt::format("/subjects/{}/versions/{}", path_part(reference.subject), reference.version);
      if (!seen.insert(path).second) continue;
      if (seen.size() > kMostReferences)
        return invalid(fmt::format("it refers to more than {} other schemas", kMostReferences));
      absl::StatusOr<RegistryAnswer> other = ask(path);
      if (absl::IsNotFound(other.status())) return invalid(std::string(other.status().message()));
      RETURN_IF_ERROR(other.status());
      RETURN_IF_ERROR(collect(*other, seen, definitions));
    }
    definitions.push_back(answer.schema);
    return absl::OkStatus();
  }

  absl::StatusOr<RegistryAnswer> ask(const std::string& path) {
    ASSIGN_OR_RETURN(const std::string body, get(path));
    absl::StatusOr<RegistryAnswer> answer = parse_registry_answer(body);
    if (answer.ok()) return answer;
    return absl::UnavailableError(
        fmt::format("{}{}: {}", answered_, path, std_sv(answer.status().message())));
  }

  // The body, from the first address that answers.
  absl::StatusOr<std::string> get(const std::string& path) {
    absl::Status failed = absl::UnavailableError("schema_registry.url is empty");
    for (const std::string& base : options_.urls) {
      answered_ = base;
      absl::StatusOr<std::string> body = get_from(base + path);
      if (body.ok() || absl::IsNotFound(body.status())) return body;
      failed = body.status();
    }
    return failed;
  }

  absl::StatusOr<std::string> get_from(const std::string& url) {
    if (curl_ == nullptr) curl_.reset(curl_easy_init());
    if (curl_ == nullptr) return absl::ResourceExhaustedError("no memory for a request");
    CURL* curl = curl_.get();
    curl_easy_reset(curl);  // keeps the connection
    RegistryBody body;
    set_request(curl, url, cancel_.get());
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout_ms));
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    if (!options_.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, options_.ca_file.c_str());
    if (!options_.credentials_file.empty()) {
      ASSIGN_OR_RETURN(const std::string credentials, read_credentials());
      curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
      curl_easy_setopt(curl, CURLOPT_USERPWD, credentials.c_str());
    }
    const CURLcode result = curl_easy_perform(curl);
    if (body.too_large)
      return absl::UnavailableError(fmt::format("{}: the answer has more than {} bytes", url, kMostBody));
    if (result != CURLE_OK) {
      return absl::UnavailableError(fmt::format("{}: {}{}", url, curl_easy_strerror(result),
                                                is_about_trust(result) ? " (schema_registry.ca_file)" : ""));
    }
    long code = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    if (code == 200) return std::move(body.text);
    return failure(url, code, body.text);
  }

  absl::Status failure(const std::string& url, long code, std::string_view body) const {
    const RegistryError error = parse_registry_error(body);
    const std::string says =
        fmt::format("{}: HTTP status {}{}{}", url, code, error.message.empty() ? "" : ": ", error.message);
    if (code == 401 || code == 403) {
      return absl::PermissionDeniedError(
          fmt::format("{}; {}", says,
                      options_.credentials_file.empty()
                          ? "set schema_registry.credentials_file, a file with user:password"
                          : "schema_registry.credentials_file names a user without the right to read it"));
    }
    // A server that is not a registry answers 404, too; then the records are not to blame.
    if (code == 404 && error.code / 100 == kUnknownSchema / 100) return absl::NotFoundError(says);
    if (code == 404) {
      return absl::UnavailableError(
          fmt::format("{}; is schema_registry.url the address of a registry's API?", says));
    }
    return absl::UnavailableError(says);
  }

  absl::StatusOr<std::string> read_credentials() const {
    std::ifstream in(options_.credentials_file);
    std::string line;
    if (!in || !std::getline(in, line))
      return io_error(fmt::format("schema_registry.credentials_file: {}", options_.credentials_file));
    if (line.ends_with('\r')) line.pop_back();
    if (line.find(':') != std::string::npos) return line;
    return absl::FailedPreconditionError(
        fmt::format("schema_registry.credentials_file: {}: its first line is not user:password",
                    options_.credentials_file));
  }

  RegistryOptions options_;
  const std::shared_ptr<const std::atomic<bool>> cancel_;
  std::unique_ptr<CURL, void (*)(CURL*)> curl_;
  std::string answered_;  // the address that was asked last
};

}  // namespace

std::unique_ptr<SchemaRegistry> make_http_registry(RegistryOptions options,
                                                   std::shared_ptr<const std::atomic<bool>> cancel) {
  return std::make_unique<HttpRegistry>(std::move(options), std::move(cancel));
}

}  // namespace doppel
