#include "fetch/schema_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/reason.h"
#include "base/status.h"
#include "fetch/curl.h"
#include "formats/schema/avro.h"
#include "formats/schema/schema_decoder.h"
#include "pipeline/stream.h"

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

namespace {

using SteadyClock = std::chrono::steady_clock;
using Schema = std::shared_ptr<const RecordSchema>;

constexpr auto kLongestTurn = std::chrono::milliseconds(100);
constexpr auto kPauseMost = std::chrono::milliseconds(10'000);
constexpr auto kSayAgain = std::chrono::seconds(30);
constexpr size_t kMostKnown = 10'000;  // ids; then all are forgotten, so that broken ids fill no memory

// Asks the registry on a thread of its own.
class Asker {
 public:
  Asker(std::unique_ptr<SchemaRegistry> registry, std::shared_ptr<std::atomic<bool>> cancel,
        const SchemaSourceOptions& options)
      : registry_(std::move(registry)),
        cancel_(std::move(cancel)),
        options_(options),
        thread_([this] { work(); }) {}

  ~Asker() {
    *cancel_ = true;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // The schema, if it is known; otherwise the registry is asked for it.
  Schema find(uint32_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(id);
    if (found != known_.end() && found->second.until > SteadyClock::now()) return found->second.schema;
    if (std::find(wanted_.begin(), wanted_.end(), id) == wanted_.end()) wanted_.push_back(id);
    changed_.notify_all();
    return nullptr;
  }

  // Returns when all wanted schemas are known, or after a turn.
  void await() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLongestTurn, [this] { return wanted_.empty(); });
  }

  std::shared_ptr<const SchemaStats> stats() const { return stats_; }

 private:
  struct Known {
    Schema schema;
    SteadyClock::time_point until;
  };

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !wanted_.empty(); });
      if (stopping_) return;
      const uint32_t id = wanted_.front();
      lock.unlock();
      absl::StatusOr<Schema> schema = registry_->schema(id);
      lock.lock();
      if (stopping_) return;
      if (!take(id, std::move(schema))) {
        changed_.wait_for(lock, pause(), [this] { return stopping_; });
        continue;
      }
      wanted_.erase(wanted_.begin());
      if (wanted_.empty()) changed_.notify_all();
    }
  }

  // Returns false if the registry did not answer.
  bool take(uint32_t id, absl::StatusOr<Schema> schema) {
    auto until = SteadyClock::time_point::max();
    if (schema.ok()) {
      ++stats_->found;
    } else if (absl::IsNotFound(schema.status())) {
      ++stats_->unknown;
      until = SteadyClock::now() + std::chrono::milliseconds(options_.remembered_unknown_ms);
      schema = refused_schema(
          message_of(Reason::schema_unknown, fmt::format(": the registry has no schema {}", id)));
    } else if (absl::IsInvalidArgument(schema.status())) {
      ++stats_->unusable;
      until = SteadyClock::now() + std::chrono::milliseconds(options_.remembered_unknown_ms);
      schema = refused_schema(
          message_of(Reason::schema_unusable, fmt::format(": {}", std_sv(schema.status().message()))));
    } else {
      ++stats_->failed;
      stats_->waiting = true;
      say(id, schema.status());
      return false;
    }
    stats_->waiting = false;
    if (std::exchange(failures_, 0) > 0) log::info("the schema registry answers again");
    if (known_.size() >= kMostKnown) known_.clear();
    known_.insert_or_assign(id, Known{*std::move(schema), until});
    return true;
  }

  void say(uint32_t id, const absl::Status& status) {
    const auto now = SteadyClock::now();
    if (failures_++ > 0 && now - logged_ < kSayAgain) return;
    logged_ = now;
    log::warn("waiting for the schema registry", {{"schema", id}, {"says", std_sv(status.message())}});
  }

  std::chrono::milliseconds pause() const {
    const int doubled = std::min(failures_ - 1, 10);
    return std::min(std::chrono::milliseconds(options_.pause_ms << doubled), kPauseMost);
  }

  const std::unique_ptr<SchemaRegistry> registry_;
  const std::shared_ptr<std::atomic<bool>> cancel_;
  const SchemaSourceOptions options_;
  const std::shared_ptr<SchemaStats> stats_ = std::make_shared<SchemaStats>();
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::unordered_map<uint32_t, Known> known_;
  std::vector<uint32_t> wanted_;
  int failures_ = 0;  // in a row
  SteadyClock::time_point logged_;
  bool stopping_ = false;
  std::thread thread_;  // last, because it uses all of the above
};

class Schemas final : public SourceOver<SchemaSource> {
 public:
  Schemas(Source& inner, std::unique_ptr<SchemaRegistry> registry, std::shared_ptr<std::atomic<bool>> cancel,
          const SchemaSourceOptions& options)
      : SourceOver(inner), asker_(std::move(registry), std::move(cancel), options) {}

  absl::StatusOr<bool> next(Batch& batch) override {
    batch = {};
    if (!waiting_) {
      Batch read;
      ASSIGN_OR_RETURN(const bool more, inner_.next(read));
      if (!more) return false;
      waiting_ = std::move(read);
      given_ = 0;
      used_ = std::make_shared<std::vector<Schema>>();
    }
    if (!fill_schemas()) asker_.await();
    if (!fill_schemas()) return true;
    batch = *std::move(waiting_);
    if (!used_->empty()) batch.memory.push_back(std::move(used_));
    waiting_.reset();
    return true;
  }

  std::shared_ptr<const SchemaStats> stats() const override { return asker_.stats(); }

 private:
  // Gives the records of the batch their schemas, up to the first one whose schema is not known yet. Then
  // requests all other schemas that the batch needs.
  bool fill_schemas() {
    bool all = true;
    std::optional<uint32_t> last;  // successive records mostly have the same schema
    Schema schema;
    for (size_t i = given_; i < waiting_->records.size(); ++i) {
      Record& record = waiting_->records[i];
      uint32_t id = 0;
      if (record.null_value || !is_schema_framed(record.value, &id)) {
        given_ += all ? 1 : 0;
        continue;
      }
      if (last != id) {
        last = id;
        schema = asker_.find(id);
        if (schema != nullptr && all) used_->push_back(schema);
      }
      all = all && schema != nullptr;
      if (!all) continue;
      record.schema = schema.get();
      ++given_;
    }
    return all;
  }

  std::optional<Batch> waiting_;  // its records up to given_ have their schemas
  size_t given_ = 0;
  std::shared_ptr<std::vector<Schema>> used_;  // by the records of the batch
  Asker asker_;
};

}  // namespace

std::unique_ptr<SchemaSource> make_schema_source(Source& inner, std::unique_ptr<SchemaRegistry> registry,
                                                 std::shared_ptr<std::atomic<bool>> cancel,
                                                 const SchemaSourceOptions& options) {
  return std::make_unique<Schemas>(inner, std::move(registry), std::move(cancel), options);
}

}  // namespace doppel
