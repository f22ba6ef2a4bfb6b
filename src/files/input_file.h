#pragma once
// A file to be read: where it is, and what kind of file it is by its name and its content.

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "files/byte_stream.h"
#include "pipeline/stream.h"

namespace doppel {

struct InputFile {
  std::string path;
  std::string name;    // what events call it; empty: its path
  std::string member;  // of a WACZ file: its name in there; `path` is the WACZ file's
  Part part;           // and where it is
  uint64_t size = 0;   // on disk, when it was listed
  uint64_t device = 0;
  uint64_t inode = 0;
  bool lines = false;
  bool warc = false;  // records of a WARC file; then lines is set, too: it is read in parts and can grow
  bool arc = false;   // of an ARC file, the format before; then warc is set, too
  bool signed_records = false;  // and lines is set, too
  // Seen by its content; lines is set, too, as it is read in parts.
  bool parquet = false, arrow = false;
  bool values = false;  // JSON over several lines or in an array; a reader without ValueReader uses `refused`
  bool pipe = false;    // no size, no identity, no second reading ("-" is stdin)
  Packing packing = Packing::none;
  std::string_view refused;  // why it cannot be read, by its content; empty: it can
  std::string head;          // of a pipe: what was read of it to see what it is

  // What messages and positions call it.
  std::string shown() const { return member.empty() ? path : path + "/" + member; }
  const std::string& source() const { return name.empty() ? path : name; }
  // Offsets count its bytes as they are on disk: it is not packed, and no ARC file, which is read as another.
  bool as_stored() const { return packing == Packing::none && !arc; }
};

// What its name and `info` say, before look_inside() (content.h); `layout` as in FilesSourceOptions.
InputFile describe_file(std::string path, const struct stat& info, const std::string& layout);

// Identifies a part of a file as an inode does the file; for all of it, that is the inode.
uint64_t inode_of(uint64_t inode, const Part& part);

// Why a file of that name is not read at all; empty: it is.
std::string_view refusal(std::string_view path);

// "PATH: byte N: CAUSE": the one form in which this source reports.
Problem make_problem(const std::string& path, uint64_t line, uint64_t offset, const std::string& cause);
// What errno says.
std::string system_cause();

}  // namespace doppel
