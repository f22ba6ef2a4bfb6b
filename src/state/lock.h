#pragma once
// The file "LOCK": flock(2) on it while a process uses the directory; it holds the process's number,
// for the message to the next one. The lock ends with the process, however that ends.

#include <string>

#include "absl/status/statusor.h"
#include "state/file.h"

namespace doppel {

// Held as long as the result lives.
absl::StatusOr<File> lock_directory(const std::string& directory);
// The same for those who only read: any number of them, and nobody who writes.
absl::StatusOr<File> lock_to_read(const std::string& directory);
// Whether a process holds it now. Writes nothing: root may ask without leaving files of its own.
bool directory_in_use(const std::string& directory);

}  // namespace doppel
