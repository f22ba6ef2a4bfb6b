#pragma once
// Decodes messages of mbox files. The text is the subject, an empty line, and the part that people read:
// text/plain, or else the main text of text/html.

#include <memory>

#include "formats/decoder.h"

namespace doppel {

// `options` must have passed check_format().
std::unique_ptr<Decoder> make_mail_decoder(const FormatOptions& options);

}  // namespace doppel
