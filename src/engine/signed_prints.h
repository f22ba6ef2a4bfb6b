#pragma once
// The part of a signed record that relations need: the order of a text's shingles, and its prints.
//
//    varint n, how many shingles
//    bits   n ranks: the place of each shingle's value in the coded set, in as few bits as all of them need,
//    low
//           bits first, in whole bytes
//    varint how many prints, each: varint position of its shingle, from the one before (the first: from 0),
//    and 6
//           bytes: 44 bits of key; the highest bit: an original stores it

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "engine/sign.h"

namespace doppel {

// Of a document with tops, prints and the coded set of these tops.
void put_signed_prints(std::string& out, const SignedDocument& document);
// Fills tops and prints of a document with a coded set. InvalidArgument: they do not fit to each other.
absl::Status take_signed_prints(std::string_view bytes, SignedDocument& document);

}  // namespace doppel
