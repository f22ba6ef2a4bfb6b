#pragma once
// Fetches files behind URLs (files/places.h): s3://, https:// and http://, in pieces and in parallel, ahead
// of the reader. What arrived lies in temporary files without a name.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "fetch/s3.h"
#include "files/places.h"

namespace doppel {

struct DownloadOptions {
  std::string directory;  // of the temporary files: has room for the largest file
  S3Settings s3;
  int parallel = 8;
  std::string certificates;  // a file with those that are trusted; empty: as the environment names it
  uint64_t piece_bytes = 8 << 20;
  uint64_t ahead_bytes = 256 << 20;             // at most so far ahead of the reader
  std::chrono::milliseconds max_wait{300'000};  // how long a server may fail before the run ends
  std::chrono::milliseconds tell_after{2'000};  // how long a server may fail before `say` hears of it
  std::function<bool()> stop = [] { return false; };
  std::function<void(const std::string&)> say = [](const std::string&) {};  // called on any thread
};

std::shared_ptr<RemoteFiles> make_downloads(DownloadOptions options);

}  // namespace doppel
