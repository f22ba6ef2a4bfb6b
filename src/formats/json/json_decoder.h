#pragma once
// JSON objects -> documents, in every shape that a preset knows.

#include <memory>

#include "formats/decoder.h"

namespace doppel {

// The options have been checked.
std::unique_ptr<Decoder> make_json_decoder(const FormatOptions& options);

}  // namespace doppel
