#pragma once
// Decodes records whose value is the text, or the bytes of a page. Key and headers give everything else.

#include <memory>

#include "formats/decoder.h"

namespace doppel {

// For the formats text and html. `options` must have passed check_format().
std::unique_ptr<Decoder> make_raw_decoder(const FormatOptions& options);

}  // namespace doppel
