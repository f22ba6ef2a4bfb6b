#pragma once
// A file to be read: its path and identity, and its kind, judged by name and content.

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "files/byte_stream.h"
#include "pipeline/stream.h"

namespace doppel {

// How the user describes the input files.
enum class Layout {
  // A file that begins as a WARC file is records; .csv and .tsv are rows; .mbox and files that begin with a
  // message are messages; .jsonl .ndjson .json (before .gz .zst), stdin, pipes, files that begin with two
  // lines of JSON, and files without an ending, in .txt or in .jl that hold JSON objects are lines (or
  // values); every other file is whole. WARC files in a WACZ file (.wacz, .zip, or given by name) are read in
  // place.
  automatic,
  lines,           // each file is lines, one document each
  whole,           // each file is one document
  signed_records,  // each file is signed records, or a Parquet file with a column of them
};

// How a file is read. All kinds except `whole` are read in parts and can grow.
enum class InputKind {
  whole,           // one document
  lines,           // a document in each line
  values,          // JSON objects over several lines or in an array
  signed_records,  // engine/signed_record.h
  warc,
  arc,      // the predecessor of WARC
  parquet,  // this and `arrow` are recognised by content alone
  arrow,
  csv,   // or .tsv
  mbox,  // mail
};

struct RemoteFile;

struct InputFile {
  std::string path;  // or the URL
  // Set for a file behind a URL. `device` and `inode` then identify the URL and the version of its content.
  std::shared_ptr<const RemoteFile> remote;
  std::string name;    // its name in events; empty: its path
  std::string member;  // for a file inside a WACZ file (`path`): its name there
  Part part;           // for a file inside a WACZ file: its byte range
  uint64_t size = 0;   // on disk, when the file was listed
  uint64_t device = 0;
  uint64_t inode = 0;
  InputKind kind = InputKind::whole;
  bool pipe = false;  // has no size and no identity, and can be read only once ("-" is stdin)
  Packing packing = Packing::none;
  // Why its content cannot be read; empty: it can. Set for InputKind::values, too, because only a ValueReader
  // can read those.
  std::string_view refused;
  std::string head;  // of a pipe: bytes that were read to recognise its kind

  // The name in messages and positions.
  std::string shown() const { return member.empty() ? path : path + "/" + member; }
  const std::string& source() const { return name.empty() ? path : name; }
  bool in_parts() const { return kind != InputKind::whole; }
  bool archive() const { return kind == InputKind::warc || kind == InputKind::arc; }
  // Whether offsets count bytes as they are on disk: not in compressed files, nor in ARC files, which are
  // converted.
  bool as_stored() const { return packing == Packing::none && kind != InputKind::arc; }
};

// Describes a file by its name and `info`; look_inside() (content.h) adds what its content says.
InputFile describe_file(std::string path, const struct stat& info, Layout layout);

// The name of a pipe in events: the path, and how many documents earlier runs have judged, if they have.
// Without that, the events of two runs would have the same ids.
std::string name_of_pipe(const std::string& path, uint64_t judged_before);

// The identity of a part of a file. For the whole file, it is the inode.
uint64_t inode_of(uint64_t inode, const Part& part);

// Formats "PATH: line N, byte N: CAUSE" (without the line if it is 0), the form of all problems with input
// files.
Problem make_problem(const std::string& path, uint64_t line, uint64_t offset, const std::string& cause);
// The message of errno.
std::string system_cause();

}  // namespace doppel
