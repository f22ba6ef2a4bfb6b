#include "open/originals.h"

#include "base/status.h"
#include "engine/signed_record.h"
#include "records/metadata.h"
#include "state/scheme.h"

namespace doppel {
namespace {

class OriginalsOf final : public StoredOriginals {
 public:
  OriginalsOf(StateDir& state, const Engine& engine) : state_(state), engine_(engine) {}

  absl::StatusOr<Original> original(Seq seq) override {
    Original out;
    BodyRef body;
    const Seq first = engine_.originals().first_own();
    absl::StatusOr<StoredRow> stored = state_.read_row(seq - first);
    if (stored.ok()) {
      out.trusted_ms = stored->trusted_ms;
      out.removed = stored->removed;
      body = stored->row.body;
    } else if (absl::IsOutOfRange(stored.status())) {
      ASSIGN_OR_RETURN(body, engine_.originals().body(seq));  // of the current batch
    } else {
      return stored.status();
    }
    if (body.size == 0) {
      out.removed = true;  // its record was compacted away before this state was made
      return out;
    }
    ASSIGN_OR_RETURN(const Body read, state_.bodies().read(body, buffer_));
    out.metadata = read.metadata;
    return out;
  }

 private:
  StateDir& state_;
  const Engine& engine_;
  std::string buffer_;
};

class KeptOnDisk final : public KeptOriginals {
 public:
  KeptOnDisk(StateDir& state, const Engine& engine) : KeptOriginals(engine.originals()), state_(state) {}

  std::optional<BodyRef> body(Seq seq) const override {
    if (seq < lowest_live() || seq >= next_seq()) return std::nullopt;
    const absl::StatusOr<StoredRow> row = state_.read_row(seq);
    if (!row.ok()) return BodyRef();  // not readable: the reader of the body reports it
    const bool compacted_away = row->row.body.size == 0;
    return row->removed || compacted_away ? std::nullopt : std::optional(row->row.body);
  }

 private:
  StateDir& state_;
};

}  // namespace

std::unique_ptr<KeptOriginals> kept_originals(StateDir& state, const Engine& engine) {
  if (engine.options().elsewhere) return std::make_unique<KeptOnDisk>(state, engine);
  return std::make_unique<KeptOriginals>(engine.originals());
}

std::unique_ptr<StoredOriginals> stored_originals(StateDir& state, const Engine& engine) {
  return std::make_unique<OriginalsOf>(state, engine);
}

absl::Status check_handed_on(std::string_view data_scheme) {
  if (!scheme_values(data_scheme).contains("passage")) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "an index with relations cannot be handed on, because it does not keep the order of shingles that they "
      "need; sign its documents with the same relations (doppel sign)");
}

absl::Status encode_original(uint64_t fingerprint, int num_perm, bool with_sets, const Row& row,
                             const Body& body, std::string& out) {
  Metadata metadata;
  RETURN_IF_ERROR(decode_metadata(body.metadata, metadata));
  SignedDocument document;
  document.content = row.slices != nullptr ? Content::shingled : Content::digest_only;
  document.digest = row.digest;
  document.payload = metadata.payload;
  document.id_tag = row.id_tag;
  // The same time that RecordSigner uses for a record.
  document.timestamp_ms = metadata.arrival_ms.value_or(metadata.date_ms.value_or(kNoTime));
  document.coded_set = body.coded_set;
  document.set_left_out = with_sets && row.slices != nullptr && body.coded_set.empty();
  document.metadata = body.metadata;
  encode_signed_record(fingerprint,
                       {.source = metadata.source,
                        .partition = metadata.partition,
                        .begin = metadata.offset,
                        .end = metadata.offset + 1},
                       document, {row.slices, row.slices != nullptr ? static_cast<size_t>(num_perm) : 0},
                       out);
  return absl::OkStatus();
}

}  // namespace doppel
