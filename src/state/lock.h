#pragma once
// The file "LOCK": a process holds flock(2) on it while it uses the directory, and writes its pid into it
// for the message to the next process. The lock ends with the process in any case, but some time after the
// kill if the process was writing. So both functions that take the lock wait for it, up to a second.

#include <string>

#include "absl/status/statusor.h"
#include "state/file.h"

namespace doppel {

// Holds the lock as long as the result lives.
absl::StatusOr<File> lock_directory(const std::string& directory);
// Takes the lock for reading: any number of readers can hold it, but no writer in the meantime.
absl::StatusOr<File> lock_to_read(const std::string& directory);
// Whether a process holds the lock now. Writes nothing, so root can ask without leaving files of its own.
bool directory_in_use(const std::string& directory);

}  // namespace doppel
