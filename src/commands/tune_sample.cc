#include "commands/tune_sample.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/status.h"
#include "commands/say.h"
#include "files/read/files_source.h"
#include "files/read/listing.h"
#include "fmt/format.h"
#include "formats/record.h"
#include "insight/show.h"
#include "pipeline/sign_record.h"
#include "records/metadata.h"

namespace doppel {
namespace {

constexpr size_t kMessagesShown = 5;

// A progress line on the terminal, after the first two seconds.
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
    print_err("\r\x1b[K{} {} of {}", what, with_commas(done), with_commas(of));
  }
  void clear() {
    if (on_screen_) print_err("\r\x1b[K");
    on_screen_ = false;
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  bool on_screen_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_;
};

}  // namespace

absl::StatusOr<TuneSample> measure_sample(const TuneSampleOptions& options, const EngineOptions& engine) {
  RETURN_IF_ERROR(check_format(options.format));
  ASSIGN_OR_RETURN(
      std::unique_ptr<Source> source,
      open_files_source({.paths = options.paths,
                         .layout = is_signed(options.format) ? Layout::signed_records : Layout::automatic,
                         .columns = options.format,
                         .signed_scheme = engine.scheme.describe() + describe_pages(options.format),
                         .outputs = options.outputs},
                        ""));
  const bool is_signed_already = is_signed(options.format);
  std::unique_ptr<Decoder> decoder = is_signed_already ? nullptr : make_decoder(options.format);
  RecordSigner signer(engine.scheme, engine.with_sets(), options.format, {});
  SignedDocument signed_document;
  std::vector<uint8_t> slices(static_cast<size_t>(engine.scheme.num_perm));
  SampleStudy study(engine);
  std::optional<SampleRelations> relations;
  if (!is_signed_already) relations.emplace(engine);
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
      if (is_signed_already) {
        signer.sign(record, signed_document, slices.data());
        if (signed_document.content == Content::rejected) status = invalid(signed_document.reason);
      } else if (record.pieces != nullptr) {
        large.clear();
        status = each_piece(*decoder, record, document, [&large](std::string_view text) { large += text; });
        document.text = large;
      } else {
        status = decoder->decode(record, document);
      }
      if (!status.ok()) {
        problem(fmt::format("{}: {}", place_in_words(record), std_sv(status.message())));
        continue;
      }
      waiting.show("reading document", sample.records, options.documents);
      if (is_signed_already) {
        study.add_signed(signed_document, slices.data(), record.value.size());
        continue;
      }
      const Metadata about = metadata_of(record, document);
      metadata.clear();
      encode_metadata(about, metadata);
      study.add(document.text, document.scope, metadata.size());
      RETURN_IF_ERROR(relations->add(document.text, document.scope, about.name()));
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
  if (relations) {
    ASSIGN_OR_RETURN(sample.parts, relations->finish());
  }
  return sample;
}

absl::StatusOr<std::string> extract_of_pages(const TuneSampleOptions& options) {
  const FormatOptions& format = options.format;
  if (is_signed(format)) return "";
  ASSIGN_OR_RETURN(const Listing listing, list_files({.paths = options.paths}));
  std::string described = describe_format(format);
  for (const InputFile& file : listing.files) {
    if (file.pipe) return "";
    if (file.archive()) described += describe_pages(format);
  }
  for (const char* extract : {"visible", "main"}) {
    if (described.find(fmt::format("={}", extract)) != std::string::npos) return extract;
  }
  return "";
}

}  // namespace doppel
