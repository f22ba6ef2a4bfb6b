#pragma once
// Files of a test, and a simple, slow line splitter.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "files/read/files_source.h"
#include "packed.h"
#include "temporary_directory.h"

namespace doppel {

inline void write_file(const std::string& path, std::string_view bytes, bool append = false) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream out(path, append ? std::ios::binary | std::ios::app : std::ios::binary);
  out << bytes;
}

inline std::string read_back(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

struct InputLine {
  std::string value;
  uint64_t offset = 0;
  uint64_t line = 0;
  bool operator==(const InputLine&) const = default;
};
inline void PrintTo(const InputLine& line, std::ostream* out) {
  *out << line.line << "@" << line.offset << ":" << line.value.substr(0, 80);
}

// The oracle: splits lines as a person would.
inline std::vector<InputLine> split_lines(const std::string& content, size_t max_line = SIZE_MAX) {
  std::vector<InputLine> out;
  std::istringstream in(content);
  std::string line;
  uint64_t offset = 0;
  for (uint64_t number = 1; std::getline(in, line); ++number) {
    if (!line.empty() && line != "\r" && line.size() <= max_line) out.push_back({line, offset, number});
    offset += line.size() + 1;
  }
  return out;
}

struct Taken {
  std::vector<InputLine> lines;
  std::vector<std::string> sources;  // parallel to lines
  std::vector<Problem> problems;
  std::vector<std::string> positions;  // after each batch
  std::vector<size_t> counts;          // number of lines taken so far
};

inline std::unique_ptr<Source> must_open(const FilesSourceOptions& options, std::string_view position = {}) {
  auto source = open_files_source(options, position);
  EXPECT_TRUE(source.ok()) << source.status().ToString();
  return source.ok() ? *std::move(source) : nullptr;
}

// Keeps some batches while it reads on, so that a view into memory that is reused too early shows.
inline Taken take_all(Source& source) {
  Taken out;
  auto unload = [&](const Batch& batch) {
    for (const Record& record : batch.records) {
      std::string value(record.value);
      if (record.pieces) {
        for (;;) {
          auto piece = record.pieces->next();
          if (!piece.ok()) {
            out.problems.push_back({"", 0, 0, piece.status().ToString()});
            break;
          }
          if (piece->empty()) break;
          EXPECT_LE(piece->size(), 256u << 10);
          value += *piece;
        }
      } else {
        // The padding must be readable.
        volatile char sum = 0;
        const char* end = record.value.data() + record.value.size();
        for (size_t i = 0; i < kRecordPadding; ++i) sum = static_cast<char>(sum + end[i]);
      }
      out.lines.push_back({std::move(value), record.offset, record.line});
      out.sources.emplace_back(record.source);
    }
    out.problems.insert(out.problems.end(), batch.problems.begin(), batch.problems.end());
    out.positions.push_back(batch.position);
    out.counts.push_back(out.lines.size());
  };
  std::vector<Batch> held;
  for (;;) {
    Batch batch;
    auto more = source.next(batch);
    EXPECT_TRUE(more.ok()) << more.status().ToString();
    if (!more.ok() || !*more) break;
    EXPECT_FALSE(batch.records.empty() && batch.problems.empty());
    held.push_back(std::move(batch));
    if (held.size() == 3) {
      for (const Batch& b : held) unload(b);
      held.clear();
    }
  }
  for (const Batch& b : held) unload(b);
  return out;
}

inline Taken take_all(const FilesSourceOptions& options, std::string_view position = {}) {
  auto source = must_open(options, position);
  return source ? take_all(*source) : Taken();
}

}  // namespace doppel
