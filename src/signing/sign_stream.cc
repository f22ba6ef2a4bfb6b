#include "signing/sign_stream.h"

#include <fmt/format.h>

#include "base/executor.h"
#include "base/status.h"
#include "engine/signed_record.h"
#include "files/output_file.h"
#include "formats/record.h"
#include "open/originals.h"
#include "pipeline/read_ahead.h"
#include "records/events.h"
#include "state/scheme.h"
#include "state/state_view.h"

namespace doppel {
namespace {

constexpr size_t kGrain = 16;  // documents that one thread takes at a time

class FileOutput final : public SignedOutput {
 public:
  FileOutput(std::unique_ptr<WholeOutput> file, const SignedFileHeader& header) : file_(std::move(file)) {
    append_signed_header(header, bytes_);
  }

  absl::Status write(const SignedBatchOut& out) override {
    for (const std::string& record : out.signed_records) {
      append_frame_head(static_cast<uint32_t>(record.size()), bytes_);
      bytes_ += record;
    }
    const absl::Status status = file_->append(bytes_);
    bytes_.clear();
    return status;
  }

  absl::Status finish() override {
    append_frame_head(0, bytes_);
    RETURN_IF_ERROR(file_->append(bytes_));
    return file_->finish();
  }

 private:
  std::unique_ptr<WholeOutput> file_;
  std::string bytes_;
};

class Run {
 public:
  explicit Run(SignStream& s)
      : s_(s),
        executor_(s.threads),
        reader_(s.source, executor_.threads() > 1 || s.source.in_background()),
        fingerprint_(scheme_fingerprint(s.scheme)) {
    // The reader of the signed records decides what a key means.
    const KeyPolicy keys{.tombstones = true};
    for (int i = 0; i < executor_.threads(); ++i)
      tools_.push_back({RecordSigner(s.scheme, s.with_sets, s.format, keys), {}, {}});
    for (Tools& tools : tools_) tools.slices.resize(static_cast<size_t>(s.scheme.num_perm));
  }

  absl::StatusOr<SignCounters> run() {
    while (!s_.stop()) {
      ASSIGN_OR_RETURN(const bool more, reader_.next(batch_));
      if (!more) break;
      RETURN_IF_ERROR(sign_batch());
      s_.progress(counters_);
    }
    return counters_;
  }

 private:
  struct Tools {  // for each thread
    RecordSigner signer;
    SignedDocument document;
    std::vector<uint8_t> slices;
  };

  absl::Status sign_batch() {
    for (const Problem& problem : batch_.problems) s_.report(problem.message);
    counters_.problems += batch_.problems.size();
    if (batch_.records.empty()) return s_.output.idle();
    choose_begins();
    out_.resize(batch_.records.size());
    reasons_.assign(batch_.records.size(), {});
    executor_.run(batch_.records.size(), kGrain, [this](int worker, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) sign(tools_[static_cast<size_t>(worker)], i);
    });
    for (size_t i = 0; i < out_.size(); ++i) RETURN_IF_ERROR(count(i));
    return s_.output.write({batch_, out_});
  }

  // The range of a record starts where that of the previous record ended.
  void choose_begins() {
    begins_.resize(batch_.records.size());
    const Record* before = nullptr;
    uint64_t* next = nullptr;
    for (size_t i = 0; i < batch_.records.size(); ++i) {
      const Record& record = batch_.records[i];
      if (before == nullptr || record.partition != before->partition || record.source != before->source)
        next = &s_.begins[{std::string(record.source), record.partition}];
      before = &record;
      // If a file is given twice, its ranges start again.
      begins_[i] = record.offset < *next ? record.offset : *next;
      *next = record.offset + 1;
    }
  }

  void sign(Tools& tools, size_t i) {
    const Record& record = batch_.records[i];
    SignedDocument& document = tools.document;
    tools.signer.sign(record, document, tools.slices.data());
    code_set(document);
    if (document.content == Content::rejected) {
      encode_rejected(record, document.record);
      reasons_[i] = document.reason;
    }
    encode(tools, i);
    if (document.record.empty() || out_[i].size() <= s_.output.bytes_max()) return;
    document.reason += fmt::format("; its {} bytes are left out", record.value.size());
    constexpr size_t kKeyMost = 4096;
    Record rest{.whole_file = record.whole_file};
    if (record.key && record.key->size() <= kKeyMost) rest.key = record.key;
    encode_rejected(rest, document.record);
    encode(tools, i);
  }

  void encode(const Tools& tools, size_t i) {
    const Record& record = batch_.records[i];
    out_[i].clear();
    encode_signed_record(fingerprint_,
                         {.source = record.source,
                          .partition = record.partition,
                          .begin = begins_[i],
                          .end = record.offset + 1},
                         tools.document, tools.slices, out_[i]);
  }

  absl::Status count(size_t i) {
    const Record& record = batch_.records[i];
    if (out_[i].size() > s_.output.bytes_max()) {
      return absl::ResourceExhaustedError(
          fmt::format("{}: byte {}: its signed record has {} bytes; at most {} can be written", record.source,
                      record.offset, out_[i].size(), s_.output.bytes_max()));
    }
    ++counters_.records;
    counters_.bytes += record.value.size();
    counters_.signed_bytes += out_[i].size();
    if (reasons_[i].empty()) return absl::OkStatus();
    ++counters_.rejected;
    s_.report(fmt::format("{}: {}", place_in_words(record), reasons_[i]));
    return absl::OkStatus();
  }

  SignStream& s_;
  Executor executor_;
  ReadAhead reader_;
  const uint64_t fingerprint_;
  std::vector<Tools> tools_;
  Batch batch_;
  std::vector<uint64_t> begins_;
  std::vector<std::string> out_, reasons_;
  SignCounters counters_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SignedOutput>> signed_file_output(const std::string& path,
                                                                 const SignedFileHeader& header) {
  ASSIGN_OR_RETURN(std::unique_ptr<WholeOutput> file, WholeOutput::open(path));
  return std::make_unique<FileOutput>(std::move(file), header);
}

absl::StatusOr<SignCounters> sign_stream(SignStream& stream) { return Run(stream).run(); }

absl::StatusOr<SignCounters> sign_index(const SignIndex& job) {
  constexpr size_t kBatch = 1024;
  ASSIGN_OR_RETURN(const std::unique_ptr<StateView> view, StateView::open(job.directory));
  RETURN_IF_ERROR(check_handed_on(view->identity().data_scheme));
  ASSIGN_OR_RETURN(const Scheme scheme, scheme_of_index(job.engine.scheme, view->identity().data_scheme));
  ASSIGN_OR_RETURN(const std::unique_ptr<SignedOutput> output,
                   signed_file_output(job.output, {.scheme = scheme.describe(),
                                                   .text = scheme.text,
                                                   .format = job.options.input.format}));
  const uint64_t fingerprint = scheme_fingerprint(scheme);
  SignCounters counters;
  Batch batch;
  std::vector<std::string> records;
  absl::Status status;
  const auto write = [&] {
    if (status.ok() && !records.empty()) status = output->write({batch, records});
    records.clear();
  };
  view->read(
      [&](const StoredDocument& original) {
        if (!original.live) return true;
        status = encode_original(fingerprint, scheme.num_perm, job.engine.with_sets(), original.row.row,
                                 original.body, records.emplace_back());
        ++counters.records;
        counters.signed_bytes += records.back().size();
        if (records.size() == kBatch) write();
        return status.ok() && !job.stop();
      },
      [](double) {});
  write();
  RETURN_IF_ERROR(status);
  if (!view->damage().empty()) {
    const Damage& first = view->damage().front();
    return absl::DataLossError(
        fmt::format("{}: byte {}: {}; doppel inspect --verify shows all that is damaged", first.file,
                    first.offset, first.what));
  }
  if (job.stop()) return counters;
  RETURN_IF_ERROR(output->finish());
  return counters;
}

}  // namespace doppel
