// Sizes of sliding windows: convolution and reduce_window. Private to protocol/graph.
#pragma once

#include "protocol/graph/dim/sym_dim.h"

namespace stoker {

struct WindowedDim {
  SymDim size;
  SymDim window;
  SymDim stride;
  SymDim pad_low;
  SymDim pad_high;
  SymDim dilation;           // Of the window.
  SymDim base_dilation = 1;  // Of the operand.
};

// How many windows fit; negative when the padded operand is smaller than a window by more than a
// stride.
SymDim WindowedSize(const WindowedDim& dim);

}  // namespace stoker
