#include "evals/decontaminate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/status.h"
#include "base/strings.h"
#include "formats/record.h"
#include "pipeline/read_ahead.h"
#include "records/metadata.h"
#include "text/words.h"

namespace doppel {
namespace {

// The most words between a question and its answer.
constexpr size_t kAnswerWithin = 64;

void text_member(std::string& out, std::string_view name, std::string_view value) {
  if (out.back() != '{') out += ',';
  out += fmt::format("\"{}\":", name);
  append_json_string(out, value);
}

template <typename T>
void number_member(std::string& out, std::string_view name, T value) {
  if (out.back() != '{') out += ',';
  out += fmt::format("\"{}\":{}", name, value);
}

// Whether the whole answer stands near the question; nullopt if there is no answer.
std::optional<bool> answer_is_near(std::span<const WordSpan> text, const Item& item, const ItemMatch& match) {
  const std::vector<WordSpan> words = split_words(item.answer);
  if (words.empty()) return std::nullopt;
  const auto find = [&](size_t begin, size_t end) {
    const auto part = text.subspan(begin, end - begin);
    return std::search(part.begin(), part.end(), words.begin(), words.end(),
                       [](const WordSpan& a, const WordSpan& b) { return a.text == b.text; }) != part.end();
  };
  const size_t far = kAnswerWithin + words.size();
  return find(item.with_answer ? match.begin : match.end, std::min(text.size(), match.end + far)) ||
         find(match.begin - std::min<size_t>(match.begin, far), match.begin);
}

void append_document(std::string& out, const Record& record, const Metadata& metadata) {
  out += "\"document\":{";
  text_member(out, "id", metadata.name());
  if (!metadata.url.empty()) text_member(out, "url", metadata.url);
  text_member(out, "file", metadata.source);
  if (record.row) {
    number_member(out, "row", metadata.offset);
  } else if (!record.whole_file) {
    if (record.line != 0) number_member(out, "line", record.line);
    number_member(out, "offset", metadata.offset);
  }
  out += '}';
}

}  // namespace

void append_findings(std::string& out, const Record& record, const Document& document, const Items& items,
                     std::span<const ItemMatch> matches) {
  const Metadata metadata = metadata_of(record, document);
  const std::vector<WordSpan> words = split_words(document.text);
  for (const ItemMatch& match : matches) {
    const Item& item = items.items[match.item];
    out += '{';
    append_document(out, record, metadata);
    out += ",\"item\":{";
    text_member(out, "id", item.id);
    text_member(out, "file", item.file);
    text_member(out, "question", item.question);
    out += '}';
    text_member(out, "relation", match.edits == 0 ? "verbatim" : "edited");
    const uint32_t edits = std::min(match.edits, match.words);
    out += ",\"share\":";
    append_json_ppm(out, static_cast<uint32_t>(uint64_t{1'000'000} * (match.words - edits) / match.words));
    number_member(out, "changed", match.edits);
    out += fmt::format(",\"words\":[{},{}]", match.begin, match.end);
    const size_t begin = words[match.begin].begin, end = words[match.end - 1].end;
    out += fmt::format(",\"bytes\":[{},{}]", begin, end);
    text_member(out, "passage", document.text.substr(begin, end - begin));
    if (const auto near = answer_is_near(words, item, match))
      out += *near ? ",\"answer\":true" : ",\"answer\":false";
    out += "}\n";
  }
}

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

absl::StatusOr<std::unique_ptr<CleanOutput>> CleanOutput::open(To to,
                                                               std::function<void(const std::string&)> say) {
  to.keep.output.clear();
  std::unique_ptr<CleanOutput> out(new CleanOutput(std::move(to)));
  ASSIGN_OR_RETURN(out->keep_, FilesSink::open(out->to_.keep, "", std::move(say)));
  return out;
}

absl::Status CleanOutput::document(const Record& record, std::string_view lines) {
  lines_ += lines;
  return keep_->keep(record, lines.empty());
}

absl::Status CleanOutput::rejected(const Record& record) { return keep_->keep(record, false); }

absl::Status CleanOutput::batch_ends() {
  const absl::Status status = lines_.empty() ? absl::OkStatus() : to_.lines(lines_);
  lines_.clear();
  RETURN_IF_ERROR(status);
  return keep_->flush();
}

absl::Status CleanOutput::finish() { return keep_->finish(); }

}  // namespace doppel
