#include "text/unicode.h"

namespace doppel::unicode {

#include "text/unicode_tables.inc"

}  // namespace doppel::unicode
