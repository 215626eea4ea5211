// Product codes: a table of sixteen bytes a part fits into a register, where it is looked up for 4 W vectors at once.
#pragma once
#include "../engine.hpp"
#include "../simd.hpp"

namespace sketchseek {
namespace {

void sum_tables(const PartCodes& codes, int64_t begin_block, int64_t end_block, uint16_t* out) {
  const uint8_t* from = codes.codes + begin_block * (codes.parts / 2) * kCodeBlock;
  for (int64_t block = begin_block; block < end_block; ++block, from += codes.parts / 2 * kCodeBlock)
    for (int some = 0; some < kCodeBlock; some += 4 * W, out += 4 * W) {
      Shorts pairs = {}, odd = {};  // bytes are summed by twos, and the upper ones of each two alone
      for (int part = 0; part < codes.parts; part += 2) {
        const uint8_t* table = codes.tables + 16 * part;
        const Bytes both = load<Bytes>(from + part / 2 * kCodeBlock + some);
        const Shorts low = (Shorts)look_up(repeated(table), both & 15);
        const Shorts high = (Shorts)look_up(repeated(table + 16), (Bytes)((Shorts)both >> 4) & 15);
        pairs += low + high;
        odd += (low >> 8) + (high >> 8);
      }
      const Shorts even = pairs - (odd << 8);
      for (int i = 0; i < 2 * W; ++i) out[2 * i] = even[i], out[2 * i + 1] = odd[i];
    }
}

}  // namespace
}  // namespace sketchseek
