#pragma once
// The record of a document that the signer rejected, so that the reader of the signed record can write the
// same dead letter. It is SignedDocument::record: a byte of flags (1 key, 2 whole file, 4 from a WARC file, 8
// null, 16 row of a table), varint line, string key if present, varint number of headers (string name, u8
// whether it has a value, string value), string value.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/sign.h"
#include "formats/record.h"

namespace doppel {

void encode_rejected(const Record& record, std::string& out);
// InvalidArgument means that `bytes` are damaged. Views in `out` point into `bytes`, its headers into
// `headers`. Does not set the record's position.
absl::Status decode_rejected(std::string_view bytes, Record& out, std::vector<Header>& headers);

// Finds the record that the dead letter of a rejected document shows, and owns what it points to.
class RejectedRecord {
 public:
  // Returns `record`, unless `document` was signed elsewhere and contains its own.
  const Record* of(const Record* record, const SignedDocument& document);

 private:
  Record record_;
  std::vector<Header> headers_;
};

}  // namespace doppel
