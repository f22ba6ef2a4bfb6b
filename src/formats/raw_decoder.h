#pragma once
// Records whose value is the text, or the bytes of a page; all that is known besides is in key and headers.

#include <memory>

#include "formats/decoder.h"

namespace doppel {

// For the formats text and html. The options have been checked.
std::unique_ptr<Decoder> make_raw_decoder(const FormatOptions& options);

}  // namespace doppel
