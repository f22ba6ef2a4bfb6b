#pragma once
// The WARC files inside of a WACZ file (https://specs.webrecorder.net/wacz): a ZIP archive that stores them
// as they are, so that each is a range of bytes that is read in place.

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "files/input_file.h"

namespace doppel {

struct Wacz {
  std::vector<InputFile> files;   // its archive/*.warc, .warc.gz, .warc.zst, by name
  std::vector<Problem> problems;  // those that cannot be read, and why
};

// Whether the name says so (.wacz, .zip): only such files are looked into where a directory is searched.
bool is_wacz_name(std::string_view path);

// What is in the open file. Empty: no ZIP archive, or none with WARC files in it, and no name that promises
// some. The error names the file: what its name promises is not there, or it is damaged or cut.
absl::StatusOr<Wacz> look_into_wacz(int fd, const std::string& path, const struct stat& info);

// Whether the file that a position calls `path` (FILE.wacz/archive/NAME) is there, and is that one.
bool is_in_wacz(const std::string& path, uint64_t device, uint64_t inode);
// The path of the WACZ file in it; empty: it names none.
std::string wacz_of(const std::string& path);

}  // namespace doppel
