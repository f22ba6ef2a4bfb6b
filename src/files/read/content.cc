#include "files/read/content.h"

#include <fcntl.h>

// zlib.h: input pointers are const
#define ZLIB_CONST
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <memory>

#include "engine/signed_record.h"
#include "files/arrow/arrow_rows.h"
#include "formats/bytes/charset.h"
#include "formats/mail/mail.h"
#include "formats/warc/warc.h"

namespace doppel {
namespace {

using namespace std::string_view_literals;

struct Magic {
  size_t at;
  std::string_view bytes;
  std::string_view refusal;
};

constexpr auto kImage = "an image: there is no text to compare; leave it out"sv;
constexpr auto kSound = "sound or video: there is no text to compare; leave it out"sv;
constexpr auto kProgram = "a program: there is no text to compare; leave it out"sv;
constexpr auto kNoText = "not text: it holds control characters; leave it out, or extract its text first"sv;
constexpr auto kUtf16 = "text in UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8"sv;
constexpr auto kUtf32 = "text in UTF-32; convert it to UTF-8: iconv -f UTF-32 -t UTF-8"sv;
constexpr auto kArrow =
    "an Arrow file, which only scan, sign, tune and explain read; for others convert it to JSON lines, for "
    "instance with pyarrow"sv;
constexpr auto kFeather =
    "a Feather file of version 1, which is not read; rewrite it with pyarrow.feather.write_feather"sv;
constexpr auto kParquet = "PAR1"sv;
constexpr auto kZip = "PK\x03\x04"sv;

// Where one magic begins with another, the longer one comes first.
constexpr Magic kMagics[] = {
    {0, kParquet,
     "a Parquet file, which only scan, sign, tune and explain read; for others convert it to JSON lines: "
     "duckdb -c \"COPY (FROM 'FILE') TO 'FILE.jsonl'\""},
    {0, "PARE", "an encrypted Parquet file, which is not read; write it without encryption"},
    {0, arrow::kFileBegins, kArrow},
    {0, "FEA1", kFeather},
    {0, arrow::kStreamBegins, kArrow},
    {0, "Obj\x01", "an Avro file; convert it to JSON lines: avro-tools tojson"},
    {0, "ORC\x0a", "an ORC file; convert it to JSON lines, for instance with pyarrow"},
    {0, "\x1f\x8b", "packed twice; unpack it once first"},
    {0, "\x28\xb5\x2f\xfd", "packed twice; unpack it once first"},
    {0, kSignedMagic, "signed records, made by doppel sign; read them with input.format: signed"},
    {0, "BZh", "packed with bzip2; unpack it first, or give it through a pipe: bzcat FILE | doppel scan -"},
    {0, "\xfd\x37zXZ\0"sv,
     "packed with xz; unpack it first, or give it through a pipe: xzcat FILE | doppel scan -"},
    {0, "\x04\x22\x4d\x18",
     "packed with lz4; unpack it first, or give it through a pipe: lz4cat FILE | doppel scan -"},
    {0, "LZIP", "packed with lzip; unpack it first"},
    {0, "\x1f\x9d",
     "packed with compress; unpack it first, or give it through a pipe: zcat FILE | doppel scan -"},
    {0, "\xff\x06\0\0sNaPpY"sv, "packed with snappy; unpack it first"},
    {0, "7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"},
    {0, "Rar!\x1a\x07", "a RAR archive; unpack it first"},
    {0, kZip,
     "a ZIP archive; WARC files in a WACZ file are read where it is given by its name, unpack anything else "
     "first"},
    {0, "PK\x05\x06", "an empty ZIP archive"},
    {257, "ustar", "a tar archive; unpack it first"},
    {0, "\x89PNG\r\n\x1a\n", kImage},
    {0, "\xff\xd8\xff", kImage},
    {0, "GIF87a", kImage},
    {0, "GIF89a", kImage},
    {0, "II*\0"sv, kImage},
    {0, "MM\0*"sv, kImage},
    {8, "WEBPVP8", kImage},
    {4, "ftypavif", kImage},
    {4, "ftypheic", kImage},
    {8, "WAVEfmt ", kSound},
    {8, "AVI LIST", kSound},
    {4, "ftyp", kSound},
    {0, "\x1a\x45\xdf\xa3", kSound},
    {0, "OggS", kSound},
    {0, "fLaC", kSound},
    {0, "ID3\x03", kSound},
    {0, "ID3\x04", kSound},
    {0, "%PDF-", "a PDF file; extract its text first: pdftotext FILE FILE.txt"},
    {0, "{\\rtf1", "an RTF file; extract its text first: pandoc -f rtf -t plain -o FILE.txt FILE"},
    {0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
     "an old Office file; extract its text first: soffice --convert-to txt:Text FILE"},
    {0,
     "\x7f"
     "ELF",
     kProgram},
    {0, "\xca\xfe\xba\xbe", kProgram},
    {0, "\xcf\xfa\xed\xfe", kProgram},
    {0, "\0asm"sv, kProgram},
    {0, "SQLite format 3\0"sv, "an SQLite database; export it as JSON lines first"},
    {0, "\x89HDF\r\n\x1a\n", "an HDF5 file; export it as JSON lines first"},
    {0, "\x93NUMPY", "a NumPy array: there is no text to compare"},
    {0, "\xff\xfe\0\0"sv, kUtf32},
    {0, "\0\0\xfe\xff"sv, kUtf32},
    {0, "\xff\xfe", kUtf16},
    {0, "\xfe\xff", kUtf16},
};

// ZIP archives that hold one document, by what is in their first bytes: OpenDocument and EPUB begin with
// their type, Office with a list of types and the folder of the document.
struct Zipped {
  std::string_view contains, refusal;
};
constexpr Zipped kZipped[] = {
    {"application/epub+zip",
     "an EPUB file; extract its text first: pandoc -f epub -t plain -o FILE.txt FILE"},
    {"application/vnd.oasis.opendocument.text",
     "an ODT file; extract its text first: pandoc -f odt -t plain -o FILE.txt FILE"},
    {"application/vnd.oasis.opendocument.",
     "an OpenDocument file; extract its text first: soffice --convert-to pdf FILE, then pdftotext"},
    {"word/", "a DOCX file; extract its text first: pandoc -f docx -t plain -o FILE.txt FILE"},
    {"xl/",
     "an Excel file; save it as CSV, and convert that to JSON lines: duckdb -c \"COPY (FROM 'FILE.csv') TO "
     "'FILE.jsonl'\""},
    {"ppt/", "a PowerPoint file; extract its text first: soffice --convert-to pdf FILE, then pdftotext"},
    {"[Content_Types].xml",
     "an Office file; extract its text first, of DOCX with: pandoc -f docx -t plain -o FILE.txt FILE"},
};

// For files that begin as a table but cannot be read as one.
constexpr auto kPackedParquet = "a packed Parquet file; unpack it, as its pages are packed already"sv;
constexpr auto kPackedArrow = "a packed Arrow file; unpack it, as its buffers may be packed already"sv;
constexpr auto kPipedParquet =
    "a Parquet file through a pipe; give the file's name, as its end is read before its rows"sv;
constexpr auto kPipedArrow = "an Arrow file through a pipe; give the file's name"sv;
constexpr auto kTable =
    "tables are not read here; convert it to JSON lines: duckdb -c \"COPY (FROM 'FILE') TO 'FILE.jsonl'\""sv;
constexpr auto kNoParquet = "not a Parquet file, though its name says so: it does not begin with PAR1"sv;

constexpr auto kNoMbox =
    "not an mbox file, though its name says so: it does not begin with \"From NAME DATE\" and a header"sv;

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kMark = "\xef\xbb\xbf";  // the byte order mark of UTF-8

bool is_parquet_name(std::string_view path) {
  constexpr std::string_view kEnd = ".parquet";
  return path.size() >= kEnd.size() &&
         std::equal(kEnd.begin(), kEnd.end(), path.end() - kEnd.size(),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

// Whether it has more control characters than a text with a few damaged bytes.
bool is_binary(std::string_view head) {
  const auto control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\x1b' && (c < '\b' || c > '\r');
  };
  constexpr size_t kSome = 8;
  const auto controls = static_cast<size_t>(std::count_if(head.begin(), head.end(), control));
  return controls >= kSome && controls * 50 > head.size();
}

// The state at the end of a line: the number of open brackets, and whether a string is open.
struct Nesting {
  int depth = 0;
  bool in_string = false;
};
Nesting nesting_of(std::string_view line) {
  Nesting out;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (out.in_string) {
      if (c == '\\') ++i;
      if (c == '"') out.in_string = false;
    } else if (c == '"') {
      out.in_string = true;
    } else if (c == '{' || c == '[') {
      ++out.depth;
    } else if (c == '}' || c == ']') {
      --out.depth;
    }
  }
  return out;
}

std::string_view zip_refusal(std::string_view head, std::string_view other) {
  const auto has = [&](std::string_view name) { return head.find(name) != std::string_view::npos; };
  const bool office = has("[Content_Types].xml") || has("_rels/.rels"), typed = has("mimetype");
  for (const Zipped& zipped : kZipped)
    if (has(zipped.contains) && (zipped.contains.starts_with("application/") ? typed : office))
      return zipped.refusal;
  return other;
}

std::string_view trimmed(std::string_view text) {
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text;
}

// Why it is JSON, but not one object per line; else empty.
std::string_view other_json(std::string_view head) {
  head = trimmed(head);
  if (head.starts_with('[')) {
    const std::string_view inside = trimmed(head.substr(1));
    if (inside.starts_with('{'))
      return "an array of JSON, which scan reads; convert it to lines: jq -c '.[]' FILE";
    return {};
  }
  const size_t end = head.find('\n');
  if (!head.starts_with('{') || end == std::string_view::npos) return {};
  const Nesting nesting = nesting_of(head.substr(0, end));
  // A truncated record looks the same, but then the next line begins a record.
  const std::string_view next = trimmed(head.substr(end));
  if (nesting.depth > 0 && !nesting.in_string && next.starts_with('"'))
    return "JSON over several lines, which scan reads; convert it to lines: jq -c . FILE";
  return {};
}

// Whether it begins with an object that has a field and the begin of its value.
bool begins_object(std::string_view text) {
  if (!text.starts_with('{')) return false;
  text = trimmed(text.substr(1));
  size_t end = 1;
  if (!text.starts_with('"')) return false;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  text = trimmed(text.substr(std::min(end + 1, text.size())));
  if (!text.starts_with(':')) return false;
  text = trimmed(text.substr(1));
  return !text.empty() && "\"{[-0123456789tfn"sv.find(text.front()) != std::string_view::npos;
}

// Whether it begins with JSON objects: one in a line, in an array, or over several lines. A text that only
// begins with a bracket is none, nor is an object in a whole file that does not end.
bool is_json(std::string_view head) {
  const bool cut = head.size() >= kLookedAt;
  head = trimmed(head);
  if (!begins_object(head.starts_with('[') ? trimmed(head.substr(1)) : head)) return false;
  if (!other_json(head).empty()) return true;
  const size_t feed = head.find('\n');
  if (feed == std::string_view::npos && cut) return true;
  const Nesting nesting = nesting_of(head.substr(0, feed));
  return nesting.depth == 0 && !nesting.in_string;
}

// Whether the ending of a name says what is in the file. Without one, or with the number of a page or a part,
// it does not; .jl is Scrapy's for JSON lines, and Julia's.
bool name_tells(std::string_view path) {
  packing_of(path);
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  const size_t dot = name.find_last_of('.');
  const std::string_view ending = dot == std::string_view::npos ? ""sv : name.substr(dot + 1);
  return ending.find_first_not_of("0123456789") != std::string_view::npos && ending != "txt" &&
         ending != "jl";
}

}  // namespace

Packing packing_in(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return Packing::gz;
  if (head.starts_with("\x28\xb5\x2f\xfd")) return Packing::zst;
  // A skippable zstd frame comes first: 0x184D2A50 to 5F.
  if (head.size() >= 4 && (head[0] & 0xf0) == 0x50 && head.substr(1, 3) == "\x2a\x4d\x18")
    return Packing::zst;
  return Packing::none;
}

std::string unpacked_head(std::string_view head, Packing packing) {
  if (packing == Packing::none) return std::string(head.substr(0, kLookedAt));
  std::string out(kLookedAt, '\0');
  if (packing == Packing::gz) {
    z_stream z = {};
    if (inflateInit2(&z, 15 + 16) != Z_OK) return {};
    z.next_in = reinterpret_cast<const Bytef*>(head.data());
    z.avail_in = static_cast<uInt>(head.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    // Members may be small, so several are unpacked.
    while (z.avail_in > 0 && z.avail_out > 0) {
      const int result = inflate(&z, Z_SYNC_FLUSH);
      if (result != Z_OK && (result != Z_STREAM_END || inflateReset(&z) != Z_OK)) break;
    }
    out.resize(out.size() - z.avail_out);
    inflateEnd(&z);
    return out;
  }
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr) return {};
  ZSTD_inBuffer in{head.data(), head.size(), 0};
  ZSTD_outBuffer unpacked{out.data(), out.size(), 0};
  while (unpacked.pos < unpacked.size) {
    const size_t before = in.pos + unpacked.pos;
    if (ZSTD_isError(ZSTD_decompressStream(context.get(), &unpacked, &in)) || in.pos + unpacked.pos == before)
      break;
  }
  out.resize(unpacked.pos);
  return out;
}

std::string_view unreadable(std::string_view head, bool in_lines) {
  for (const Magic& magic : kMagics) {
    if (head.size() < magic.at + magic.bytes.size() ||
        head.substr(magic.at, magic.bytes.size()) != magic.bytes)
      continue;
    // Lines cannot be found in it; a whole file is decoded.
    if (!in_lines && (magic.refusal == kUtf16 || magic.refusal == kUtf32))
      return wrongly_marked(head) ? kNoText : std::string_view();
    if (magic.bytes == kZip) return zip_refusal(head, magic.refusal);
    if (magic.bytes == "BZh" && (head.size() < 10 || head.substr(4, 6) != "\x31\x41\x59\x26\x53\x59"))
      continue;
    return magic.refusal;
  }
  if (const std::string_view wide = unmarked_unicode(head); !wide.empty())
    return !in_lines ? std::string_view() : wide.starts_with("utf-16") ? kUtf16 : kUtf32;
  if (in_lines) return other_json(head);
  if (is_binary(head)) return kNoText;
  return {};
}

std::string refusal_of(const InputFile& file) {
  std::string why(file.refused);
  constexpr std::string_view kName = "FILE";
  const std::string name = file.pipe ? std::string(kName) : file.shown();
  for (size_t at = why.find(kName); at != std::string::npos; at = why.find(kName, at + name.size()))
    why.replace(at, kName.size(), name);
  return file.shown() + ": " + why;
}

bool is_json_lines(std::string_view head) {
  head = trimmed(head);
  const size_t end = head.find('\n');
  if (end == std::string_view::npos || !head.starts_with('{')) return false;
  const Nesting nesting = nesting_of(head.substr(0, end));
  return nesting.depth == 0 && !nesting.in_string && trimmed(head.substr(1, end)).starts_with('"') &&
         trimmed(head.substr(end)).starts_with("{");
}

void look_inside(std::string_view head, const FilesSourceOptions& options, InputFile& file) {
  if (head.empty()) return;
  file.packing = packing_in(head);
  // Only WARC files contain their own dictionary. It may be longer than the bytes that are examined.
  const std::string inside =
      head.starts_with(kZstDictionary) ? "WARC/1.0" : unpacked_head(head, file.packing);
  // If it cannot be unpacked, reading the file reports why.
  if (inside.empty()) return;
  const bool is_parquet = inside.starts_with(kParquet);
  const bool is_arrow = inside.starts_with(arrow::kFileBegins) || inside.starts_with(arrow::kStreamBegins) ||
                        arrow::is_old_stream(inside);
  if (options.columns && file.part.is_all() && (is_parquet || is_arrow)) {
    if (file.packing != Packing::none) {
      file.refused = is_parquet ? kPackedParquet : kPackedArrow;
    } else if (file.pipe) {
      file.refused = is_parquet ? kPipedParquet : kPipedArrow;
    } else {
      file.refused = "";
    }
    file.kind = !file.refused.empty() ? InputKind::whole : is_parquet ? InputKind::parquet : InputKind::arrow;
    return;
  }
  if (is_parquet_name(file.path) && !file.pipe && !is_parquet) {
    file.refused = inside.starts_with("PARE") ? unreadable(inside, false) : kNoParquet;
    return;
  }
  if (file.kind == InputKind::csv) {
    file.refused = unreadable(inside, false);
    return;
  }
  if (file.kind == InputKind::signed_records) {
    if (!inside.starts_with(kSignedMagic.substr(0, inside.size())))
      file.refused = "not signed records, which input.format: signed expects; doppel sign makes them";
    return;
  }
  const bool arc = inside.starts_with("filedesc:"), archive = arc || begins_warc(inside);
  if (options.layout == Layout::automatic) {
    if (archive) {
      file.kind = arc ? InputKind::arc : InputKind::warc;
    } else if (begins_mbox(inside)) {
      file.kind = InputKind::mbox;
    } else if (file.kind == InputKind::whole &&
               (is_json_lines(inside) || (!name_tells(file.path) && is_json(inside)))) {
      file.kind = InputKind::lines;
    }
  }
  if (file.kind == InputKind::mbox) {
    if (!begins_mbox(inside)) file.refused = kNoMbox;
    return;
  }
  // If only the name says WARC, the reader of WARC files reports what is wrong.
  if (!archive) file.refused = unreadable(inside, file.in_parts());
  const bool lines = file.kind == InputKind::lines || file.kind == InputKind::values;
  if (lines)
    file.kind = !file.refused.empty() && !other_json(inside).empty() ? InputKind::values : InputKind::lines;
}

void look_inside(int fd, const FilesSourceOptions& options, InputFile& file) {
  if (file.kind == InputKind::csv && (!options.columns || !file.part.is_all())) {
    file.kind = InputKind::whole;
    file.refused = kTable;
    return;
  }
  const auto begin = static_cast<off_t>(file.part.begin);
  const uint64_t most = file.part.is_all() ? kLookedAtPacked : file.part.size;
  std::string head(std::min<uint64_t>(kLookedAt, most), '\0');
  ssize_t got = ::pread(fd, head.data(), head.size(), begin);
  if (got == 0 && is_parquet_name(file.path)) file.refused = kNoParquet;
  if (got <= 0) return;
  if (packing_in({head.data(), static_cast<size_t>(got)}) == Packing::zst) {
    head.resize(std::min<uint64_t>(kLookedAtPacked, most));
    got = ::pread(fd, head.data(), head.size(), begin);
    if (got <= 0) return;
  }
  look_inside(std::string_view(head.data(), static_cast<size_t>(got)), options, file);
}

void look_inside_pipe(int fd, const FilesSourceOptions& options, InputFile& file) {
  file.head.clear();
  size_t wanted = 1;
  while (file.head.size() < wanted) {
    std::array<char, kLookedAt> buffer;
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;  // reading the pipe reports the error
    file.head.append(buffer.data(), static_cast<size_t>(got));
    const Packing packing = packing_in(file.head);
    if (packing != Packing::none) wanted = packing == Packing::zst ? kLookedAtPacked : kLookedAt;
  }
  look_inside(file.head, options, file);
}

}  // namespace doppel
