#pragma once

namespace doppel {

// How the user describes the input files.
enum class Layout {
  // A file that begins as a WARC file is records; .jsonl .ndjson .json (before .gz .zst), stdin, pipes and
  // files that begin with two lines of JSON are lines; every other file is whole. WARC files in a WACZ file
  // (.wacz, .zip, or given by name) are read in place.
  automatic,
  lines,           // each file is lines, one document each
  whole,           // each file is one document
  signed_records,  // each file is signed records, or a Parquet file with a column of them
};

}  // namespace doppel
