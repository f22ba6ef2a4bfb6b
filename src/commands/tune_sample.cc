#include "commands/tune_sample.h"

#include <unistd.h>

#include <chrono>

#include "base/status.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "stream/files/files_source.h"
#include "stream/metadata.h"

namespace doppel {
namespace {

constexpr size_t kMessagesShown = 5;

// A line on the terminal, only if there is one and only after two seconds.
class Waiting {
 public:
  ~Waiting() { clear(); }
  void show(std::string_view what, uint64_t done, uint64_t of) {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now - start_ < std::chrono::seconds(2) ||
        now - last_ < std::chrono::milliseconds(100)) {
      return;
    }
    last_ = now;
    on_screen_ = true;
    fmt::print(stderr, "\r\x1b[K{} {} of {}", what, with_commas(done), with_commas(of));
  }
  void clear() {
    if (on_screen_) fmt::print(stderr, "\r\x1b[K");
    on_screen_ = false;
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  bool on_screen_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_;
};

// A file too large to be held is read as a whole all the same: a sample is judged by its text.
absl::Status read_pieces(const Record& record, std::string& text) {
  text.clear();
  while (true) {
    ASSIGN_OR_RETURN(std::string_view piece, record.pieces->next());
    if (piece.empty()) return absl::OkStatus();
    text += piece;
  }
}

}  // namespace

absl::StatusOr<TuneSample> measure_sample(const TuneSampleOptions& options, const EngineOptions& engine) {
  RETURN_IF_ERROR(check_format(options.format));
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source, open_files_source({.paths = options.paths}, ""));
  std::unique_ptr<Decoder> decoder = make_decoder(options.format);
  SampleStudy study(engine);
  Waiting waiting;
  TuneSample sample;
  sample.name = options.paths.size() == 1
                    ? options.paths.front()
                    : fmt::format("{} and {} more", options.paths.front(), options.paths.size() - 1);
  auto problem = [&](const std::string& message) {
    ++sample.rejected;
    if (sample.messages.size() < kMessagesShown) sample.messages.push_back(message);
  };
  Batch batch;
  std::string metadata;
  std::string large;
  while (sample.whole) {
    ASSIGN_OR_RETURN(bool more, source->next(batch));
    if (!more) break;
    for (const Problem& p : batch.problems) problem(p.message);
    for (const Record& record : batch.records) {
      if (sample.records == options.documents || study.full()) {
        sample.whole = false;
        sample.full = study.full();
        break;
      }
      ++sample.records;
      Document document;
      absl::Status status;
      if (record.pieces != nullptr) {
        status = read_pieces(record, large);
        document.text = large;
      } else {
        status = decoder->decode(record, document);
      }
      if (!status.ok()) {
        problem(fmt::format("{}{}: {}", record.source,
                            record.line != 0 ? fmt::format(":{}", record.line) : "",
                            std_sv(status.message())));
        continue;
      }
      metadata.clear();
      encode_metadata(metadata_of(record, document), metadata);
      study.add(document.text, document.scope, metadata.size());
      waiting.show("reading document", sample.records, options.documents);
    }
  }
  sample.without_text = study.without_text();
  sample.too_short = study.too_short();
  if (study.documents() == 0) {
    std::string why = sample.messages.empty() ? "" : "; the first problem: " + sample.messages.front();
    return invalid(fmt::format("{}: none of {} records holds enough text to compare{}", sample.name,
                               with_commas(sample.records), why));
  }
  sample.result =
      study.finish([&](uint64_t done, uint64_t of) { waiting.show("comparing document", done, of); });
  return sample;
}

}  // namespace doppel
