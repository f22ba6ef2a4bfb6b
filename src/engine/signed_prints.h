#pragma once
// The part of a signed record that relations need: the order of a text's shingles, and its prints.
//
//    varint number n of shingles
//    bits   n ranks: the index of each shingle's value in the coded set, each in as few bits as the largest
//           index needs, low bits first, padded to whole bytes
//    varint number of prints; each: varint position of its shingle minus the previous position (at first:
//           minus 0), and 6 bytes: 44 bits of key; the highest bit: an original stores it

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "engine/sign.h"

namespace doppel {

// Appends them. The document needs tops, prints and the coded set of these tops.
void put_signed_prints(std::string& out, const SignedDocument& document);
// Fills tops and prints of a document that has its coded set. InvalidArgument: the bytes do not match the
// set.
absl::Status take_signed_prints(std::string_view bytes, SignedDocument& document);

}  // namespace doppel
