#include "record_signing.h"

#include "base/executor.h"
#include "base/status.h"
#include "config/config.h"
#include "engine/signed_record.h"
#include "fmt/format.h"
#include "memory_stream.h"
#include "open/setup.h"
#include "pipeline/sign_record.h"
#include "records/metadata.h"
#include "state/state_dir.h"

namespace doppel::python {
namespace {

constexpr size_t kGrain = 16;  // documents that a thread takes at a time

// One per thread.
struct Tools {
  RecordSigner signer;
  SignedDocument document;
  std::vector<uint8_t> slices;
};

}  // namespace

absl::StatusOr<SigningSettings> signing_settings(const std::vector<std::pair<std::string, std::string>>& sets,
                                                 const std::string& hash_key) {
  ASSIGN_OR_RETURN(const Config config, load_config({.sets = sets}));
  HashKey key;
  if (hash_key.empty()) {
    std::string note;
    ASSIGN_OR_RETURN(key, choose_hash_key(config.options, note));
  } else {
    ASSIGN_OR_RETURN(key, parse_hash_key(hash_key));
  }
  ASSIGN_OR_RETURN(EngineOptions engine, engine_options(config.options, key));
  return SigningSettings{config.options, std::move(engine)};
}

absl::Status sign_documents(const SigningSettings& settings, const std::vector<std::string_view>& texts,
                            const std::vector<std::string_view>& ids, const std::vector<int64_t>& times_ms,
                            const std::function<bool(uint64_t done)>& go_on, TextBuffer& out) {
  const EngineOptions& engine = settings.engine;
  const uint64_t fingerprint = scheme_fingerprint(engine.scheme);
  const Documents documents{.texts = texts, .ids = ids, .times_ms = times_ms};
  Executor executor(texts.size() < 2 * kGrain ? 1 : thread_count(settings.options));
  std::vector<Tools> tools;
  for (int i = 0; i < executor.threads(); ++i) {
    tools.push_back({RecordSigner(engine.scheme, engine.with_sets(), settings.options.input,
                                  {.tombstones = true}, std::make_unique<DocumentsDecoder>(documents)),
                     {},
                     std::vector<uint8_t>(static_cast<size_t>(engine.scheme.num_perm))});
  }
  DocumentsSource source(documents);
  Batch batch;
  std::vector<std::string> records;
  for (uint64_t done = 0; go_on(done); done += batch.records.size()) {
    ASSIGN_OR_RETURN(const bool more, source.next(batch));
    if (!more) break;
    records.resize(batch.records.size());
    executor.run(batch.records.size(), kGrain, [&](int worker, size_t begin, size_t end) {
      Tools& mine = tools[static_cast<size_t>(worker)];
      for (size_t i = begin; i < end; ++i) {
        const Record& record = batch.records[i];
        mine.signer.sign(record, mine.document, mine.slices.data());
        code_set(mine.document);
        records[i].clear();
        encode_signed_record(fingerprint,
                             {.source = record.source, .begin = record.offset, .end = record.offset + 1},
                             mine.document, mine.slices, records[i]);
      }
    });
    for (const std::string& record : records) out.add(record);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SignedName>> names_of_records(const EngineOptions& engine,
                                                         const std::vector<std::string_view>& records) {
  const uint64_t fingerprint = scheme_fingerprint(engine.scheme);
  std::vector<uint8_t> slices(static_cast<size_t>(engine.scheme.num_perm));
  std::vector<SignedName> out;
  out.reserve(records.size());
  for (size_t row = 0; row < records.size(); ++row) {
    const auto wrong = [&](std::string_view what) {
      return invalid(fmt::format("records: row {}: {}", row, what));
    };
    if (records[row].data() == nullptr) return wrong("None is not a signed record");
    const absl::StatusOr<uint64_t> signed_with = fingerprint_of_signed_record(records[row]);
    if (!signed_with.ok()) return wrong(std_sv(signed_with.status().message()));
    if (*signed_with != fingerprint)
      return wrong("signed with another hash key or other settings than this index has");
    SignedOrigin origin;
    SignedDocument document;
    Metadata metadata;
    absl::Status status = decode_signed_record(records[row], fingerprint, engine.scheme.num_perm, origin,
                                               document, slices.data());
    if (status.ok()) status = decode_metadata(document.metadata, metadata);
    if (!status.ok()) return wrong(std_sv(status.message()));
    out.push_back({metadata.name(), document.digest, document.metadata});
  }
  return out;
}

}  // namespace doppel::python
