#pragma once
// The record of a document that was rejected where it was signed, so that a reader of the signed record can
// write the same dead letter. It is SignedDocument::record: a byte of flags (1 a key, 2 a whole file, 4 of a
// WARC file, 8 null, 16 a row of a table), varint line, string key where there is one, varint number of
// headers (string name, u8 whether it has a value, string value), string value.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/sign.h"
#include "formats/record.h"

namespace doppel {

void encode_rejected(const Record& record, std::string& out);
// InvalidArgument: it is none. Views in `out` point into `bytes`, those of its headers into `headers`. Where
// it came from is not in it.
absl::Status decode_rejected(std::string_view bytes, Record& out, std::vector<Header>& headers);

// Of a rejected document: the record that its dead letter shows. Keeps what that points into.
class RejectedRecord {
 public:
  // `record` itself, unless `document` was signed elsewhere and brings its own.
  const Record* of(const Record* record, const SignedDocument& document);

 private:
  Record record_;
  std::vector<Header> headers_;
};

}  // namespace doppel
