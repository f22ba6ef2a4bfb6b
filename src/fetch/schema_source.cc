#include "fetch/schema_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/reason.h"
#include "base/status.h"
#include "pipeline/source_over.h"

namespace doppel {
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
    if (failures_++ > 0 && now - said_ < kSayAgain) return;
    said_ = now;
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
  SteadyClock::time_point said_;
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
