#pragma once
// Decodes JSON objects into documents, in all shapes that the presets define.

#include <memory>

#include "formats/decoder.h"

namespace doppel {

// `options` must have passed check_format().
std::unique_ptr<Decoder> make_json_decoder(const FormatOptions& options);

}  // namespace doppel
