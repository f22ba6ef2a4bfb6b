// Reads any bytes as a signed record, as its header and as the record of a rejected document: reading must
// refuse them, or return something that stays the same when it is written and read once more. A wrong
// checksum would hide everything else, so it also reads them with a right one.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/checksums.h"
#include "engine/signed_record.h"
#include "pipeline/sign_record.h"
#include "records/events.h"

namespace {

constexpr int kNumPerm = 16;

void take_record(std::string_view bytes) {
  static const doppel::Scheme scheme{.key = {1, 2}, .num_perm = kNumPerm};
  static doppel::RecordSigner signer(scheme, true, {.format = "signed"}, {.tombstones = true});
  static doppel::SignedDocument document;
  std::vector<uint8_t> slices(kNumPerm);
  signer.sign({.value = bytes, .source = "fuzz"}, document, slices.data());
  if (document.content == doppel::Content::unread) std::abort();
  if (document.content == doppel::Content::rejected && document.reason.empty() && document.record.empty())
    std::abort();
  doppel::RejectedRecord rejected;
  const doppel::Record itself{.value = bytes};
  rejected.of(&itself, document);
}

// Adds a head, as if our scheme had signed it.
std::string with_head(std::string_view rest) {
  static const doppel::Scheme scheme{.key = {1, 2}, .num_perm = kNumPerm};
  std::string out;
  doppel::put_fixed(out, uint32_t{0});
  doppel::put_fixed(out, doppel::kSignedRecordVersion);
  doppel::put_fixed(out, doppel::scheme_fingerprint(scheme));
  out += rest;
  doppel::store(out.data(), doppel::crc32c(std::string_view(out).substr(4)));
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  take_record(bytes);
  take_record(with_head(bytes));
  doppel::SignedOrigin origin;
  doppel::SignedDocument document;
  std::vector<uint8_t> slices(kNumPerm);
  const uint64_t fingerprint = doppel::scheme_fingerprint({.key = {1, 2}, .num_perm = kNumPerm});
  const std::string ours = with_head(bytes);
  if (doppel::decode_signed_record(ours, fingerprint, kNumPerm, origin, document, slices.data()).ok()) {
    std::string again;
    doppel::encode_signed_record(fingerprint, origin, document, slices, again);
    doppel::SignedDocument same;
    if (!doppel::decode_signed_record(again, fingerprint, kNumPerm, origin, same, slices.data()).ok() ||
        same.metadata != document.metadata || same.record != document.record)
      std::abort();
  }
  if (const auto header = doppel::parse_signed_header(bytes); header.ok()) {
    std::string again;
    doppel::append_signed_header(*header, again);
    if (doppel::parse_signed_header(again).value() != *header) std::abort();
  }
  (void)doppel::parse_frame_head(bytes);
  return 0;
}
