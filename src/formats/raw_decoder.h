#pragma once
// Decodes records whose value is the bytes of a text or of a page. Key and headers give everything else.

#include <memory>

#include "formats/body.h"
#include "formats/decoder.h"

namespace doppel {

// For the formats text and html, and for whole files. `options` must have passed check_format().
std::unique_ptr<Decoder> make_raw_decoder(const FormatOptions& options, PageIf pages);

}  // namespace doppel
