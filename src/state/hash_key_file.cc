// The file "hash.key": 32 hex digits and a line feed, readable by its owner only. It is written under a
// temporary name and linked into place. So if two processes start at once, one makes the key and both use
// it.

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/status.h"
#include "base/strings.h"
#include "state/file.h"
#include "state/journal.h"
#include "state/state_dir.h"

namespace doppel {
namespace {

constexpr size_t kDigits = 32;

absl::StatusOr<HashKey> read_key(const std::string& path) {
  ASSIGN_OR_RETURN(const File file, File::open(path, O_RDONLY));
  ASSIGN_OR_RETURN(const uint64_t size, file.size());
  std::string text(std::min<uint64_t>(size, 4 * kDigits), '\0');
  RETURN_IF_ERROR(file.read_at(0, text.data(), text.size()));
  absl::StatusOr<HashKey> key = parse_hash_key(text);
  if (!key.ok()) return invalid(fmt::format("{}: {}", path, std_sv(key.status().message())));
  return key;
}

absl::Status write_key(const std::string& directory, const std::string& path, const HashKey& key) {
  std::string name = join(directory, "hash.key.XXXXXX");
  const File file(::mkostemp(name.data(), O_CLOEXEC), name);  // mode 0600
  if (file.fd() < 0) return io_error(fmt::format("{}: cannot be made", name));
  absl::Status status = file.write_at(0, fmt::format("{:016x}{:016x}\n", key.high, key.low));
  if (status.ok()) status = file.sync();
  if (status.ok() && ::link(name.c_str(), path.c_str()) != 0 && errno != EEXIST &&
      // For file systems without hard links.
      ::rename(name.c_str(), path.c_str()) != 0) {
    status = io_error(fmt::format("{}: cannot be made", path));
  }
  ::unlink(name.c_str());
  if (status.ok()) status = sync_directory(directory);
  return status;
}

}  // namespace

absl::StatusOr<HashKey> parse_hash_key(std::string_view hex) {
  while (!hex.empty() && (hex.back() == '\n' || hex.back() == '\r' || hex.back() == ' '))
    hex.remove_suffix(1);
  if (hex.size() != kDigits) {
    return invalid(
        fmt::format("a hash key has {} hexadecimal digits, this one has {} characters", kDigits, hex.size()));
  }
  uint64_t words[2] = {0, 0};
  for (size_t i = 0; i < kDigits; ++i) {
    const int digit = hex_value(hex[i]);
    if (digit < 0) {
      return invalid(fmt::format(
          "a hash key has {} hexadecimal digits; character {} of this one is not a hexadecimal digit",
          kDigits, i + 1));
    }
    words[i / 16] = words[i / 16] << 4 | static_cast<uint64_t>(digit);
  }
  return HashKey{.low = words[1], .high = words[0]};
}

absl::StatusOr<HashKey> hash_key_of(const std::string& directory, bool* made,
                                    const std::optional<HashKey>& wanted) {
  if (made != nullptr) *made = false;
  RETURN_IF_ERROR(make_directories(directory));
  const std::string path = join(directory, "hash.key");
  if (!exists(path)) {
    if (exists(join(directory, kJournalName))) {
      return absl::FailedPreconditionError(
          fmt::format("{}: is missing, though the directory holds an index made with a key; restore it, or "
                      "configure that key",
                      path));
    }
    HashKey key;
    if (wanted) {
      key = *wanted;
    } else {
      RETURN_IF_ERROR(random_bytes(&key.low, sizeof key.low));
      RETURN_IF_ERROR(random_bytes(&key.high, sizeof key.high));
    }
    RETURN_IF_ERROR(write_key(directory, path, key));
    // Read the key back, because another process may have been first.
    ASSIGN_OR_RETURN(const HashKey stored, read_key(path));
    if (made != nullptr) *made = stored == key;
    return stored;
  }
  return read_key(path);
}

}  // namespace doppel
