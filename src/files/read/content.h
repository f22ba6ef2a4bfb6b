#pragma once
// Recognises the kind of a file by its first bytes, because names can mislead. Only unmistakable content
// decides.

#include <string>
#include <string_view>

#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/record_reader.h"

namespace doppel {

// How many bytes of a file are examined. zstd returns nothing before it has a complete block.
inline constexpr size_t kLookedAt = 4096;
inline constexpr size_t kLookedAtPacked = 160 << 10;

Packing packing_in(std::string_view head);

// The beginning of `head` unpacked; empty if unknown.
std::string unpacked_head(std::string_view head, Packing packing);

// Why a file that begins with `head` (uncompressed) cannot be read, and what to do; empty if it can be read
// or nothing is known about it. in_lines: its name says lines of JSON.
std::string_view unreadable(std::string_view head, bool in_lines);

// Why `file` is refused, with its name, also in the command that helps.
std::string refusal_of(const InputFile& file);

// Whether each line holds a JSON object; true only if at least two lines can be seen.
bool is_json_lines(std::string_view head);

// Corrects what the name said about `file` (packing, lines, warc, parquet, arrow), and sets `refused`.
// `head` is at most its first kLookedAtPacked bytes; an empty one changes nothing.
void look_inside(std::string_view head, const FilesSourceOptions& options, InputFile& file);
// The same for an open regular file; does not move its file offset.
void look_inside(int fd, const FilesSourceOptions& options, InputFile& file);

// The same for a pipe that has data. The bytes read are in `file.head` afterwards. May wait for more if the
// data is compressed.
void look_inside_pipe(int fd, const FilesSourceOptions& options, InputFile& file);

}  // namespace doppel
