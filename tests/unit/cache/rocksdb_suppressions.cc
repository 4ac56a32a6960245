// RocksDB comes compiled without ThreadSanitizer, so that its atomics are invisible and what they
// order looks like a race. Link this into every binary that opens a database under the tsan preset.
extern "C" __attribute__((visibility("default"), used)) const char* __tsan_default_suppressions() {
  return "race:rocksdb::\n"
         "race:stoker::Database::\n";
}
