#pragma once
// JSON objects -> documents.

#include <memory>
#include <vector>

#include "formats/decoder.h"
#include "formats/fields.h"

namespace doppel {

std::unique_ptr<Decoder> make_json_decoder(std::vector<WantedField> fields);

}  // namespace doppel
