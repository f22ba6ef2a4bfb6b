#include "fetch/fetch_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/reason.h"
#include "base/status.h"
#include "pipeline/stream.h"

namespace doppel {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLongestWait = std::chrono::milliseconds(100);

class FetchingSource final : public SourceOver<FetchSource> {
 public:
  FetchingSource(Source& inner, std::vector<std::unique_ptr<WarcRoot>> roots, std::unique_ptr<CdxjIndex> cdxj,
                 const FetchOptions& options, std::shared_ptr<std::atomic<bool>> cancel)
      : SourceOver(inner),
        options_(options),
        decoder_(make_decoder(options_.format)),
        late_decoder_(make_decoder(options_.format)),
        looks_up_(cdxj != nullptr),
        pool_(std::move(roots), std::move(cdxj),
              {.parallel = options.parallel, .max_wait = std::chrono::milliseconds(options.max_wait_ms)},
              std::move(cancel)) {}

  absl::StatusOr<bool> next(Batch& batch) override {
    batch = {};
    if (handed_ == waiting_.records.size()) {
      ASSIGN_OR_RETURN(const bool more, inner_.next(batch));
      if (!more || !plan(batch)) return more;
      waiting_ = std::exchange(batch, {});
      handed_ = 0;
      pool_.start(fetches_, waiting_.position.empty() ? options_.max_bytes : UINT64_MAX);
    }
    const size_t done = pool_.await(Clock::now() + kLongestWait);
    const bool all = done == waiting_.records.size();
    // A position belongs to a complete batch.
    if (done == handed_ || (!all && !waiting_.position.empty())) return true;
    pool_.taken(done);
    hand_on(done, batch);
    return true;
  }

  FetchCounts counts() const override { return pool_.counts(); }

  absl::Status read_now(Record& record, std::vector<std::shared_ptr<const void>>& memory) override {
    auto fetch = std::make_shared<Fetch>();
    record.payload_known = false;
    plan(*late_decoder_, record, *fetch, {});
    if (fetch->wanted) RETURN_IF_ERROR(pool_.fetch_now(*fetch, options_.stop));
    give(*fetch, record);
    memory.push_back(std::move(fetch));
    return absl::OkStatus();
  }

 private:
  // Plans the fetch of each record. Returns false if the batch needs none, and no record gets a reason.
  bool plan(Batch& batch) {
    bool any = false;
    fetches_.clear();
    fetches_.resize(batch.records.size());
    for (size_t i = 0; i < batch.records.size(); ++i) {
      Fetch& fetch = fetches_[i];
      any |= plan(*decoder_, batch.records[i], fetch, options_.knows_payload);
      batch.records[i].payload_known = fetch.payload_known;
    }
    return any;
  }

  using KnowsPayload = std::function<bool(const Document&)>;
  bool plan(Decoder& decoder, const Record& record, Fetch& fetch, const KnowsPayload& knows_payload) const {
    Document document;
    // Skipped or broken records need no fetch.
    if (record.null_value || record.pieces || !decoder.decode(record, document).ok()) return false;
    if (document.skip != Reason::no_body) return false;
    const bool placed = document.warc && !document.warc->filename.empty() && document.warc->offset;
    if (!placed && (!looks_up_ || document.url.empty())) return false;
    if (knows_payload && knows_payload(document)) {
      fetch.payload_known = true;
      return false;
    }
    if (placed && !is_safe_filename(document.warc->filename)) {
      fetch.reason = message_of(Reason::fetch_failed,
                                fmt::format(": \"{}\" is not a name below a root", document.warc->filename));
      return true;
    }
    if (options_.known_missing) fetch.reason = options_.known_missing(record);
    fetch.known_missing = !fetch.reason.empty();
    if (fetch.known_missing) return true;
    fetch.wanted = true;
    if (placed) fetch.place = {std::string(document.warc->filename), *document.warc->offset};
    fetch.url = document.url;
    fetch.time_ms = document.timestamp_ms;
    return true;
  }

  static void give(const Fetch& fetch, Record& record) {
    if (fetch.wanted && fetch.reason.empty()) record.fetched = fetch.record;
    record.revisited = fetch.revisited;
    record.not_fetched = fetch.reason;
    record.known_missing = fetch.known_missing;
  }

  // Hands the records up to `end` on.
  void hand_on(size_t end, Batch& batch) {
    const bool all = end == waiting_.records.size();
    batch.records.assign(waiting_.records.begin() + static_cast<ptrdiff_t>(handed_),
                         waiting_.records.begin() + static_cast<ptrdiff_t>(end));
    auto fetched = std::make_shared<std::vector<Fetch>>();
    fetched->reserve(end - handed_);
    for (size_t i = handed_; i < end; ++i) {
      Record& record = batch.records[i - handed_];
      const Fetch& fetch = fetched->emplace_back(std::move(fetches_[i]));
      give(fetch, record);
      batch.bytes += record.value.size() + (record.key ? record.key->size() : 0);
    }
    if (handed_ == 0) batch.problems = std::move(waiting_.problems);
    batch.memory = waiting_.memory;
    batch.memory.push_back(fetched);
    if (all) batch.position = std::move(waiting_.position);
    handed_ = end;
    if (all) {
      waiting_ = {};
      handed_ = 0;
    }
  }

  const FetchOptions options_;
  const std::unique_ptr<Decoder> decoder_, late_decoder_;
  const bool looks_up_;
  Batch waiting_;  // the records from handed_ on are still to be handed on
  size_t handed_ = 0;
  std::vector<Fetch> fetches_;  // parallel to its records
  FetchPool pool_;              // last, because its threads use the fetches
};

}  // namespace

bool fetches(const FetchOptions& options) {
  return options.format.format == "heritrix" && !options.roots.empty();
}

absl::StatusOr<std::unique_ptr<FetchSource>> make_fetch_source(Source& inner, const FetchOptions& options) {
  auto cancel = std::make_shared<std::atomic<bool>>(false);
  WarcRootOptions root_options = options.root;
  root_options.cancel = cancel;
  std::vector<std::unique_ptr<WarcRoot>> roots;
  for (const std::string& root : options.roots) {
    ASSIGN_OR_RETURN(std::unique_ptr<WarcRoot> opened, open_warc_root(root, root_options));
    roots.push_back(std::move(opened));
  }
  std::unique_ptr<CdxjIndex> cdxj;
  if (!options.cdxj.empty()) {
    ASSIGN_OR_RETURN(cdxj, CdxjIndex::open(options.cdxj));
  }
  return std::make_unique<FetchingSource>(inner, std::move(roots), std::move(cdxj), options,
                                          std::move(cancel));
}

std::unique_ptr<FetchSource> make_fetch_source(Source& inner, const FetchOptions& options,
                                               std::vector<std::unique_ptr<WarcRoot>> roots,
                                               std::shared_ptr<std::atomic<bool>> cancel) {
  return std::make_unique<FetchingSource>(inner, std::move(roots), nullptr, options, std::move(cancel));
}

RegistryOptions registry_options(const Options& o) {
  return {.urls = o.schema_registry.url,
          .credentials_file = o.schema_registry.credentials_file,
          .ca_file = o.schema_registry.ca_file};
}

std::unique_ptr<SchemaSource> schemas_from(Source& inner, const Options& o) {
  if (!needs_registry(o.input)) return nullptr;
  auto cancel = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<SchemaRegistry> registry = make_http_registry(registry_options(o), cancel);
  return make_schema_source(inner, std::move(registry), std::move(cancel));
}

FetchOptions fetch_options(const Options& o, std::function<bool()> stop) {
  return {.roots = o.warc_roots,
          .cdxj = o.warc_cdxj,
          .parallel = o.fetch_parallel,
          .max_wait_ms = o.fetch_max_wait_ms,
          .root = {.max_bytes = o.input.max_bytes, .cancel = {}},
          .format = o.input,
          .stop = std::move(stop)};
}

absl::StatusOr<std::unique_ptr<FetchSource>> fetch_from(Source& inner, FetchOptions options,
                                                        const Engine& engine) {
  if (!fetches(options)) return nullptr;
  auto signer = std::make_shared<Signer>(engine.make_signer());
  options.knows_payload = [signer, &engine](const Document& document) {
    return engine.knows_payload(signer->payload(document.payload_digest, document.scope));
  };
  return make_fetch_source(inner, options);
}

std::function<absl::Status(Record&, std::vector<std::shared_ptr<const void>>&)> late_reader(
    FetchSource* fetching) {
  if (fetching == nullptr) return {};
  return [fetching](Record& record, std::vector<std::shared_ptr<const void>>& memory) {
    return fetching->read_now(record, memory);
  };
}

}  // namespace doppel
