#include "evals/decontaminate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/status.h"
#include "evals/finding.h"
#include "formats/place.h"
#include "pipeline/read_ahead.h"

namespace doppel {
namespace {

constexpr size_t kGrain = 16;  // documents that one thread takes at a time

class Run {
 public:
  explicit Run(Decontaminate& d)
      : d_(d), executor_(d.threads), reader_(d.source, executor_.threads() > 1 || d.source.in_background()) {
    for (int i = 0; i < executor_.threads(); ++i)
      tools_.push_back(std::make_unique<Tools>(d.items, make_decoder(d.format)));
    counters_.by_item.assign(d.items.items.size(), 0);
  }

  absl::StatusOr<DecontaminateCounters> run() {
    while (!d_.stop()) {
      ASSIGN_OR_RETURN(const bool more, reader_.next(batch_));
      if (!more) break;
      RETURN_IF_ERROR(look_through());
      d_.progress(counters_);
    }
    return counters_;
  }

 private:
  struct Tools {  // for each thread
    Tools(const Items& items, std::unique_ptr<Decoder> with)
        : decoder(std::move(with)), finder(items.index) {}
    std::unique_ptr<Decoder> decoder;
    WordHasher hasher;
    ItemIndex::Finder finder;
    PodVector<uint64_t> words;
  };
  struct Result {
    std::vector<ItemMatch> matches;
    std::string lines, reason;
    bool text = false;  // it has one
  };

  absl::Status look_through() {
    for (const Problem& problem : batch_.problems) d_.report(problem.message);
    counters_.problems += batch_.problems.size();
    counters_.bytes += batch_.bytes;
    results_.resize(batch_.records.size());
    executor_.run(batch_.records.size(), kGrain, [this](int worker, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i)
        look(*tools_[static_cast<size_t>(worker)], batch_.records[i], results_[i]);
    });
    for (size_t i = 0; i < batch_.records.size(); ++i)
      RETURN_IF_ERROR(hand_on(batch_.records[i], results_[i]));
    return d_.to.batch_ends();
  }

  void look(Tools& tools, const Record& record, Result& out) const {
    out.matches.clear();
    out.lines.clear();
    out.reason.clear();
    out.text = false;
    if (record.null_value) return;
    Document document;
    std::string whole;  // of a file that comes in pieces
    if (record.pieces != nullptr) {
      const absl::Status status =
          each_piece(*tools.decoder, record, document, [&whole](std::string_view text) { whole += text; });
      if (!status.ok()) out.reason = std_sv(status.message());
      document.text = whole;
    } else if (const absl::Status status = tools.decoder->decode(record, document); !status.ok()) {
      out.reason = std_sv(status.message());
    }
    if (!out.reason.empty() || document.skip != Reason::none) return;
    out.text = !document.text.empty();
    tools.hasher.hash(document.text, tools.words);
    tools.finder.find(tools.words, out.matches);
    if (!out.matches.empty()) append_findings(out.lines, record, document, d_.items, out.matches);
  }

  absl::Status hand_on(const Record& record, const Result& result) {
    ++counters_.documents;
    if (!result.reason.empty()) {
      ++counters_.rejected;
      d_.report(fmt::format("{}: {}", place_in_words(record), result.reason));
      return d_.to.rejected(record);
    }
    if (result.text) ++counters_.texts;
    if (!result.matches.empty()) ++counters_.contaminated;
    counters_.findings += result.matches.size();
    for (const ItemMatch& match : result.matches) {
      ++counters_.by_item[match.item];
      if (match.edits == 0) ++counters_.word_for_word;
    }
    return d_.to.document(record, result.lines);
  }

  Decontaminate& d_;
  Executor executor_;
  ReadAhead reader_;
  std::vector<std::unique_ptr<Tools>> tools_;
  Batch batch_;
  std::vector<Result> results_;
  DecontaminateCounters counters_;
};

}  // namespace

uint64_t DecontaminateCounters::items_found() const {
  return static_cast<uint64_t>(by_item.size()) -
         static_cast<uint64_t>(std::count(by_item.begin(), by_item.end(), 0));
}

absl::StatusOr<DecontaminateCounters> decontaminate(Decontaminate& run) { return Run(run).run(); }

}  // namespace doppel
