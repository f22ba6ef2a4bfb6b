#include "stream/warc/fetch_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/status.h"
#include "stream/executor.h"

namespace doppel {
namespace {

using Clock = std::chrono::steady_clock;

// Of one batch: what was read, and why not.
struct Fetched {
  std::vector<std::string> records;
  std::vector<std::string> reasons;
};

class FetchSource final : public Source {
 public:
  FetchSource(Source& inner, std::vector<std::unique_ptr<WarcRoot>> roots, const FetchOptions& options)
      : inner_(inner), roots_(std::move(roots)), options_(options), executor_(std::max(1, options.parallel)) {
    for (int i = 0; i < executor_.threads(); ++i) decoders_.push_back(make_decoder(options_.format));
  }

  absl::StatusOr<bool> next(Batch& batch) override {
    ASSIGN_OR_RETURN(bool more, inner_.next(batch));
    if (!more || batch.records.empty()) return more;
    ++round_;
    auto fetched = std::make_shared<Fetched>();
    fetched->records.resize(batch.records.size());
    fetched->reasons.resize(batch.records.size());
    executor_.run(batch.records.size(), 1, [&](int worker, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        fetch(*decoders_[static_cast<size_t>(worker)], batch.records[i], fetched->records[i],
              fetched->reasons[i]);
      }
    });
    for (size_t i = 0; i < batch.records.size(); ++i) {
      if (!fetched->records[i].empty()) batch.records[i].fetched = fetched->records[i];
      batch.records[i].not_fetched = fetched->reasons[i];
    }
    batch.memory.push_back(std::move(fetched));
    return true;
  }

  bool live() const override { return inner_.live(); }
  void ask_before_closing(const std::function<bool()>& wanted) override { inner_.ask_before_closing(wanted); }
  uint64_t bytes_total() const override { return inner_.bytes_total(); }
  uint64_t bytes_read() const override { return inner_.bytes_read(); }

 private:
  void fetch(Decoder& decoder, const Record& record, std::string& out, std::string& reason) {
    Document document;
    // What is skipped or broken anyway is not worth a look.
    if (record.null_value || record.pieces || !decoder.decode(record, document).ok()) return;
    if (document.skip != "no_body" || !document.warc) return;
    if (document.warc->filename.empty() || !document.warc->offset) return;
    WarcPlace place{std::string(document.warc->filename), *document.warc->offset};
    if (!is_safe_filename(place.filename)) {
      reason = fmt::format("fetch_failed: \"{}\" is not a name below a root", place.filename);
      return;
    }
    absl::StatusOr<std::string> read = patiently(place);
    if (read.ok()) {
      out = *std::move(read);
    } else {
      reason = fmt::format("fetch_failed: {}", std_sv(read.status().message()));
    }
  }

  absl::StatusOr<std::string> patiently(const WarcPlace& place) {
    const Clock::time_point last = Clock::now() + std::chrono::milliseconds(options_.max_wait_ms);
    for (auto pause = std::chrono::milliseconds(100);;
         pause = std::min(pause * 2, std::chrono::milliseconds(5000))) {
      absl::StatusOr<std::string> record = once(place);
      if (!absl::IsUnavailable(record.status()) || options_.stop() || Clock::now() + pause > last)
        return record;
      std::this_thread::sleep_for(pause);
    }
  }

  absl::StatusOr<std::string> once(const WarcPlace& place) {
    absl::StatusOr<std::string> record = absl::NotFoundError("there is no root to look for WARC files");
    for (const std::unique_ptr<WarcRoot>& root : roots_) {
      absl::StatusOr<std::string> here = root->read(place, round_);
      // A root that is away may be the one that has it.
      if (!absl::IsNotFound(here.status()) || !absl::IsUnavailable(record.status())) record = std::move(here);
      if (!absl::IsNotFound(record.status()) && !absl::IsUnavailable(record.status())) break;
    }
    return record;
  }

  Source& inner_;
  std::vector<std::unique_ptr<WarcRoot>> roots_;
  const FetchOptions options_;
  Executor executor_;
  std::vector<std::unique_ptr<Decoder>> decoders_;
  uint64_t round_ = 0;
};

}  // namespace

bool fetches(const FetchOptions& options) {
  return options.format.format == "heritrix" && !options.roots.empty();
}

absl::StatusOr<std::unique_ptr<Source>> make_fetch_source(Source& inner, const FetchOptions& options) {
  std::vector<std::unique_ptr<WarcRoot>> roots;
  for (const std::string& root : options.roots) {
    ASSIGN_OR_RETURN(std::unique_ptr<WarcRoot> opened, open_warc_root(root, options.root));
    roots.push_back(std::move(opened));
  }
  return std::make_unique<FetchSource>(inner, std::move(roots), options);
}

}  // namespace doppel
