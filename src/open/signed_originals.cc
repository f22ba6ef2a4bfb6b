#include "open/signed_originals.h"

#include "base/status.h"
#include "engine/signed_record.h"
#include "records/metadata.h"
#include "state/scheme.h"

namespace doppel {

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
