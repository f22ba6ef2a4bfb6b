#pragma once
// Decodes a WARC record into a document: a response, the text of a page, or a conversion.

#include <memory>
#include <string>
#include <vector>

#include "formats/body.h"
#include "formats/decoder.h"
#include "formats/fields.h"
#include "formats/warc/warc.h"

namespace doppel {

class WarcDecoder final : public Decoder {
 public:
  explicit WarcDecoder(const FormatOptions& options);

  absl::Status decode(const Record& record, Document& out) override;

  // Completes a message that only points to the record `bytes`: adds the text, and what the message lacks.
  // The record must be of the same URL, or, if `revisited`, the one that its revisit record refers to.
  absl::Status complete(std::string_view bytes, bool revisited, Document& out);

 private:
  absl::Status take(const WarcRecord& record, Document& out);
  absl::Status take_response(const WarcRecord& record, Document& out);
  absl::Status too_large(const WarcRecord& record, Document& out) const;
  void take_digest(const WarcRecord& record, const RecordRest* rest, Document& out);
  absl::Status take_block(BodyBytes body, const WarcRecord& record, Document& out);
  absl::Status take_body(BodyBytes body, Document& out);

  Rules rules_;
  BodyReader bodies_;
  size_t max_bytes_;
  std::vector<WantedField> fields_;
  Gathered gathered_;
  std::string chunks_, content_, digest_;
};

}  // namespace doppel
