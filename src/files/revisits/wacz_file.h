#pragma once
// Writes a WACZ file again (https://specs.webrecorder.net/wacz): with other WARC files, and with the pages,
// the metadata and everything else that it had. The index and the digests are made anew.

#include <string>

#include "absl/status/status.h"

namespace doppel {

// Writes `to` from the WACZ file `original` and the files in `folder`/archive. FailedPrecondition: a WARC
// file of the original is not there, so that it would be lost.
absl::Status write_wacz(const std::string& original, const std::string& folder, const std::string& to);

}  // namespace doppel
