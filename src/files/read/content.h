#pragma once
// What a file is, by its first bytes: its name may say anything. Only what cannot be mistaken is taken for
// something.

#include <string>
#include <string_view>

#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/options.h"

namespace doppel {

// As much of a file as is looked at. zstd gives nothing before it has a whole block.
inline constexpr size_t kLookedAt = 4096;
inline constexpr size_t kLookedAtPacked = 160 << 10;

// gz, zst or none.
Packing packing_in(std::string_view head);

// The beginning of what `head` unpacks to; empty if it is unknown.
std::string unpacked_head(std::string_view head, Packing packing);

// Why it cannot be read, and what to do; empty: it can, or nothing is known of it. `head` is not packed.
// in_lines: the name says lines of JSON. charsets: a later part reads UTF-16.
std::string_view unreadable(std::string_view head, bool in_lines, bool charsets);

// Lines that each hold a JSON object: at least two.
bool is_json_lines(std::string_view head);

// Corrects what the name said of `file` (packing, lines, warc, parquet, arrow), and sets `refused`. `head` is
// at most its first kLookedAtPacked bytes; an empty one changes nothing.
void look_inside(std::string_view head, const FilesSourceOptions& options, InputFile& file);
// The same for an open regular file; its place does not change.
void look_inside(int fd, const FilesSourceOptions& options, InputFile& file);

// The same for a pipe that has something to read: what had to be read for it is `file.head` then. May wait
// where that is packed.
void look_inside_pipe(int fd, const FilesSourceOptions& options, InputFile& file);

}  // namespace doppel
