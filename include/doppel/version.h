#pragma once
// The version of doppel. Before 1.0.0, any minor version may change this API.

#define DOPPEL_VERSION_MAJOR 0
#define DOPPEL_VERSION_MINOR 1
#define DOPPEL_VERSION_PATCH 0
#define DOPPEL_VERSION_STRING "0.1.0"
