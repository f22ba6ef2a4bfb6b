#pragma once
// An append-only output whose length is part of every commit. A restart cuts it to the length of the last
// commit, which makes a run from file to file exactly once.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/byte_stream.h"

namespace doppel {

// Compresses bytes into gzip members or zstd frames. Each can be decompressed separately, so a file may be
// cut between two of them.
class Packer {
 public:
  virtual ~Packer() = default;
  // Appends to `out` one member that holds `bytes`, or the rest of the member that begin() began.
  virtual absl::Status pack(std::string_view bytes, std::string& out) = 0;
  // Appends a part of a member; the next pack() ends the member.
  virtual absl::Status begin(std::string_view bytes, std::string& out) = 0;
};

// nullptr for Packing::none.
std::unique_ptr<Packer> make_packer(Packing packing);

class OutputFile {
 public:
  // open() replaces an existing file (O_TRUNC). resume() cuts it to `keep_bytes` and continues it; a
  // shorter file is an error that names both lengths. "-" is stdout, which is never cut. A name that ends
  // in .gz or .zst selects compression: each flush() writes one member (frame).
  static absl::StatusOr<std::unique_ptr<OutputFile>> open(const std::string& path);
  static absl::StatusOr<std::unique_ptr<OutputFile>> open(const std::string& path, Packing packing);
  static absl::StatusOr<std::unique_ptr<OutputFile>> resume(const std::string& path, uint64_t keep_bytes);

  ~OutputFile();  // closes; discards bytes that were not flushed, because they were not committed
  void append(std::string_view bytes);  // into the buffer; cannot fail
  // Writes the appended bytes and these at once: for records that memory cannot hold. In a compressed file
  // they belong to the member that the next flush() ends.
  absl::Status stream(std::string_view bytes);
  absl::Status flush();  // writes everything; ENOSPC, EIO and EPIPE are reported here, with the file's name
  absl::Status sync();   // flush() and fdatasync(); a pipe has no fdatasync()
  // The last flush(): an empty compressed file gets one empty member, so that it can be decompressed.
  absl::Status finish();
  uint64_t length() const;  // bytes of the file so far, including the buffer (uncompressed)
  bool is_packed() const;
  const std::string& path() const;
  uint64_t inode() const;      // of a regular file; 0 for others
  uint64_t last_hash() const;  // of the last bytes of the file so far: hash_before() its length

 private:
  absl::Status write();
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A hash of the last bytes of a file before `end`, by which a start knows what it wrote. 0 if it cannot be
// read.
uint64_t hash_before(const std::string& path, uint64_t end);

// A file that is written as a whole: under a temporary name in the same directory, renamed when it is
// complete. If the run fails earlier, an existing file keeps its content.
class WholeOutput {
 public:
  // "-" is stdout. A file that is not regular (a pipe, a device) is written directly. A link stays a link:
  // the file behind it is replaced and keeps its mode.
  static absl::StatusOr<std::unique_ptr<WholeOutput>> open(const std::string& path);
  // Writes the bytes uncompressed, whatever the name ends in.
  static absl::StatusOr<std::unique_ptr<WholeOutput>> open_unpacked(const std::string& path);
  ~WholeOutput();  // without finish(), removes the temporary file
  WholeOutput(const WholeOutput&) = delete;
  WholeOutput& operator=(const WholeOutput&) = delete;

  // If the name ends in .gz or .zst, each call makes one member (frame), so pass whole records.
  absl::Status append(std::string_view bytes);
  absl::Status finish();

 private:
  struct State;
  static absl::StatusOr<std::unique_ptr<WholeOutput>> open(const std::string& path, Packing packing);
  explicit WholeOutput(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// If `name` is that of a temporary file whose process does not exist any more, the name of the file that it
// was to become; otherwise "".
std::string target_of_dead_temporary(const std::string& name);

absl::Status write_whole_output(const std::string& path, std::string_view bytes);

// Creates a temporary file without a name in `directory`.
absl::StatusOr<Fd> unnamed_file(const std::string& directory);

// Writes all bytes at this offset. An error begins with `what`.
absl::Status write_at(int fd, uint64_t offset, std::string_view bytes, const std::string& what);

// An unnamed temporary file, which holds bytes until they are copied to their destination.
class Spill {
 public:
  // Creates the file in `directory`, which must have room for it.
  static absl::StatusOr<Spill> open(const std::string& directory);
  // Returns the offset of `bytes` in the file.
  absl::StatusOr<uint64_t> append(std::string_view bytes);
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  uint64_t end_ = 0;
};

// Copies the bytes from `begin` to `end` of `fd` to `out`. Errors name the file as `name`.
absl::Status copy_range(int fd, const std::string& name, uint64_t begin, uint64_t end, WholeOutput& out);

}  // namespace doppel
