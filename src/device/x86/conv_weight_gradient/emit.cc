// Gradients of the weights of convolutions: panels of d and x that meet in a tile of sums at each tap.
//
// Sums of an item lie in scratch, [panels of outputs, channels and taps, columns], the rows in the order of a row of
// dW: what is left at the end is to exchange rows and columns. A tile adds up one block of places in registers, from
// zero, and then adds that to the sums. Of bf16, it takes two places at a time (shape.h).
#include <algorithm>

#include "base/multiples.h"
#include "device/x86/conv_weight_gradient/shape.h"
#include "device/x86/copy.h"
#include "device/x86/emitter.h"
#include "device/x86/plane.h"
#include "device/x86/square.h"
#include "device/x86/tile.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;
using A = PlaceBlockArgs;

// One dimension of the plane and what a block of places sees of it.
struct Axis {
  int64_t kernel, stride, dilation;
  Value *extent, *pad;
  Value *first = nullptr, *count = nullptr;      // places of the block
  Value *seen_first = nullptr, *seen = nullptr;  // elements of x under them
};

class ConvWeightGradientKernel {
 public:
  ConvWeightGradientKernel(X86Emitter& e, const X86ConvWeightGradientPlan& plan, const std::string& symbol, int shrink)
      : e_(e),
        plan_(plan),
        w_(plan.window),
        symbol_(symbol),
        s_(weight_gradient_shape(plan, e.target, shrink)),
        taps_(plan.window.taps()) {}

  void emit() {
    tile_ = emit_tile();
    store_ = emit_store();
    pack_d_ = emit_pack("_pack_d", plan_.d, s_.columns(), s_.outputs, 1, 1);
    pack_x_ = emit_pack("_pack_x", plan_.x, s_.x_columns(), s_.depthwise ? s_.outputs : s_.channels,
                        plan_.only_places ? w_.stride_x : 1, x_step());
    frame_ = e_.begin_kernel(symbol_);
    allow_spills(frame_.function);
    generate_quickly(frame_.function);
    p_ = plane_values(e_, w_, true, frame_, place_of<&A::window>);
    images_ = e_.size<&A::images>(frame_);
    block_images_ = e_.size<&A::block_images>(frame_);
    block_rows_ = e_.size<&A::block_rows>(frame_), block_columns_ = e_.size<&A::block_columns>(frame_);
    parts_ = e_.size<&A::part_count>(frame_);
    Value* places = e_.b.CreateMul(block_images_, e_.b.CreateMul(block_rows_, block_columns_));
    d_panel_bytes_ = e_.times(places, s_.columns() * 4);
    d_panels_ = e_.at(frame_.scratch, s_.sums_bytes(taps_));
    x_panels_ = e_.at(d_panels_, up_to_line(e_.times(places, s_.block_outputs * 4)));
    Value* one_part = e_.b.CreateICmpEQ(parts_, e_.num(1));
    results_ = e_.b.CreateSelect(one_part, e_.pointer<&A::dw>(frame_), e_.pointer<&A::parts>(frame_));
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      one_item(item);
      return Values{};
    });
    e_.end_function();
  }

 private:
  Value* up_to_line(Value* bytes) { return e_.b.CreateAnd(e_.b.CreateAdd(bytes, e_.num(63)), e_.num(-64)); }
  Value* up(Value* value, Value* divisor) {
    return e_.b.CreateUDiv(e_.b.CreateAdd(value, e_.b.CreateSub(divisor, e_.num(1))), divisor);
  }
  int64_t row_bytes() const { return s_.columns() * 4; }  // of sums

  // body(pointers, carried) at each place of [images, rows, columns], where two pointers walk.
  struct Steps {
    Value *image, *row;
    int64_t column;
  };
  template <class Body>
  Values at_each_place(Value* images, Value* rows, Value* columns, Value* a, const Steps& of_a, Value* b,
                       const Steps& of_b, const Values& carried, Body body) {
    const X86Emitter::Moving by_image[] = {{a, of_a.image}, {b, of_b.image}};
    return e_.walk(images, by_image, carried, [&](const Values& p, const Values& v) {
      const X86Emitter::Moving by_row[] = {{p[0], of_a.row}, {p[1], of_b.row}};
      return e_.walk(rows, by_row, v, [&](const Values& q, const Values& u) {
        const X86Emitter::Moving by_column[] = {{q[0], of_a.column}, {q[1], of_b.column}};
        return e_.walk(columns, by_column, u, body);
      });
    });
  }

  // Channels that are copied to panels of `width`, the last of which may have fewer of them.
  struct Pack {
    Function* function = nullptr;
    DType dtype{};
    int64_t width = 0, channels = 0;
    int64_t place_bytes = 0, step_bytes = 0;  // from place to place, and to the next one that is read
    int64_t partner = 0;                      // where pairs are packed: so many of these steps to the second of a pair
  };
  Pack emit_pack(const std::string& name, DType dtype, int64_t width, int64_t channels, int64_t step, int64_t partner) {
    Pack pack{.dtype = dtype, .width = width, .channels = channels, .partner = s_.dot ? partner : 0};
    pack.place_bytes = channels * s_.groups * size_bytes(dtype), pack.step_bytes = step * pack.place_bytes;
    // void(from, to, images, rows, columns, from_image, from_row, to_image, to_row, whole panels, has_rest,
    // panel_bytes)
    std::vector<llvm::Type*> params(12, e_.i64);
    params[0] = params[1] = e_.ptr;
    Function* f = pack.function = e_.begin_function(symbol_ + name, e_.b.getVoidTy(), params, false);
    allow_spills(f);
    const auto arg = [&](unsigned i) { return f->getArg(i); };
    const auto columns = [&](Value* from, Value* to, Value* count, bool has_partner) {
      at_each_place(arg(2), arg(3), count, from, {arg(5), arg(6), pack.step_bytes}, to, {arg(7), arg(8), width * 4}, {},
                    [&](const Values& p, const Values&) {
                      const X86Emitter::Moving moving[] = {{p[0], width * size_bytes(dtype)}, {p[1], arg(11)}};
                      e_.walk(arg(9), moving, {}, [&](const Values& q, const Values&) {
                        copy_place(pack, q[0], q[1], width, has_partner);
                        return Values{};
                      });
                      if (channels % width == 0) return Values{};
                      e_.when(e_.b.CreateICmpNE(arg(10), e_.num(0)), [&] {
                        copy_place(pack, e_.at(p[0], e_.times(arg(9), width * size_bytes(dtype))),
                                   e_.at(p[1], e_.b.CreateMul(arg(9), arg(11))), channels % width, has_partner);
                      });
                      return Values{};
                    });
    };
    Value* paired = e_.num(0);
    if (pack.partner) {
      paired = e_.larger(e_.b.CreateSub(arg(4), e_.num(pack.partner)), e_.num(0));
      columns(arg(0), arg(1), paired, true);
    }
    columns(e_.at(arg(0), e_.times(paired, pack.step_bytes)), e_.at(arg(1), e_.times(paired, width * 4)),
            e_.b.CreateSub(arg(4), paired), false);
    e_.end_function();
    return pack;
  }
  // `valid` channels of a place, zeros behind them: as f32, or as pairs with those of its partner, or with zeros.
  void copy_place(const Pack& pack, Value* from, Value* to, int64_t valid, bool has_partner) {
    for (int64_t first = 0; first < pack.width; first += e_.lanes) {
      const int64_t lanes = std::min<int64_t>(e_.lanes, pack.width - first), count = std::min(lanes, valid - first);
      Value* elements = llvm::Constant::getNullValue(e_.vec(pack.partner ? e_.i32 : e_.f32, static_cast<int>(lanes)));
      if (count > 0) {
        llvm::Type *type = e_.vec(e_.memory_type(pack.dtype), static_cast<int>(count)),
                   *pairs = e_.vec(e_.i32, static_cast<int>(count));
        const auto bits = [&](int64_t offset) {
          return e_.b.CreateZExt(e_.load(type, e_.at(from, first * size_bytes(pack.dtype) + offset)), pairs);
        };
        if (!pack.partner) {
          elements = e_.widen(pack.dtype, e_.load(type, e_.at(from, first * size_bytes(pack.dtype))));
        } else {
          elements = bits(0);
          if (has_partner)
            elements = e_.b.CreateOr(
                elements, e_.b.CreateShl(bits(pack.partner * pack.step_bytes), llvm::ConstantInt::get(pairs, 16)));
        }
        std::vector<int> spread;
        for (int64_t i = 0; i < lanes; ++i) spread.push_back(static_cast<int>(std::min(i, count)));
        Value* zeros = llvm::Constant::getNullValue(elements->getType());
        if (count < lanes) elements = e_.b.CreateShuffleVector(elements, zeros, spread);
      }
      e_.store(elements, e_.at(to, first * 4), 4);
    }
  }

  // void(x, d, sums, images, rows, columns, x_image, x_row, d_image, d_row).
  Function* emit_tile() {
    llvm::Type* const params[] = {e_.ptr, e_.ptr, e_.ptr, e_.i64, e_.i64, e_.i64, e_.i64, e_.i64, e_.i64, e_.i64};
    Function* f = e_.begin_function(symbol_ + "_tile", e_.b.getVoidTy(), params, false);
    const auto arg = [&](unsigned i) { return f->getArg(i); };
    const int rows = s_.depthwise ? 1 : s_.rows;
    Values sums(static_cast<size_t>(rows * s_.vectors), llvm::Constant::getNullValue(e_.v_f32));
    const int64_t step = s_.dot ? 2 : 1;  // places
    Value* columns = s_.dot ? up(arg(5), e_.num(2)) : arg(5);
    sums = at_each_place(arg(3), arg(4), columns, arg(0), {arg(6), arg(7), step * x_step() * s_.x_columns() * 4},
                         arg(1), {arg(8), arg(9), step * row_bytes()}, sums,
                         [&](const Values& p, Values now) { return products(p[0], p[1], rows, std::move(now)); });
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < s_.vectors; ++v) {
        Value* place = e_.at(arg(2), r * row_of_channel() * row_bytes() + v * e_.lanes * 4);
        Value* sum = sums[static_cast<size_t>(r * s_.vectors + v)];
        e_.store(e_.b.CreateFAdd(e_.load(e_.v_f32, place, 4), sum), place, 4);
      }
    e_.end_function();
    return f;
  }
  Values products(Value* x, Value* d, int rows, Values sums) {
    Values of_d;
    for (int v = 0; v < s_.vectors; ++v)
      of_d.push_back(e_.load(s_.dot ? e_.v_i32 : e_.v_f32, e_.at(d, v * e_.lanes * 4), 4));
    for (int r = 0; r < rows; ++r) {
      Value* one = s_.depthwise ? nullptr : e_.splat(e_.load(s_.dot ? e_.i32 : e_.f32, e_.at(x, r * 4), 4));
      for (int v = 0; v < s_.vectors; ++v) {
        Value*& sum = sums[static_cast<size_t>(r * s_.vectors + v)];
        Value* of_x = one ? one : e_.load(e_.v_f32, e_.at(x, v * e_.lanes * 4), 4);
        sum = s_.dot ? e_.dot_bf16(sum, of_x, of_d[static_cast<size_t>(v)])
                     : e_.fma(of_x, of_d[static_cast<size_t>(v)], sum);
      }
    }
    return sums;
  }

  // Rows of sums from one channel to the next, and from one tap to the next.
  int64_t row_of_channel() const { return plan_.matrix ? 1 : taps_; }
  int64_t row_of_tap() const { return plan_.matrix ? s_.sum_rows(1) : 1; }

  // void(sums, out, rows, columns): the first of them, exchanged; rows of `out` are those of dW.
  Function* emit_store() {
    llvm::Type* const params[] = {e_.ptr, e_.ptr, e_.i64, e_.i64};
    Function* f = e_.begin_function(symbol_ + "_store", e_.b.getVoidTy(), params, false);
    allow_spills(f);
    Value *sums = f->getArg(0), *out = f->getArg(1), *rows = f->getArg(2), *columns = f->getArg(3);
    const int64_t out_row = plan_.channels * taps_ * 4;
    e_.loop(e_.num(0), rows, e_.lanes, {}, [&](Value* row, const Values&) {
      Value* inside = e_.tail_mask(e_.b.CreateSub(rows, row));
      e_.loop(e_.num(0), columns, e_.lanes, {}, [&](Value* column, const Values&) {
        Value* from = e_.at(e_.at(sums, e_.times(row, row_bytes())), e_.times(column, 4));
        Value* to = e_.at(e_.at(out, e_.times(row, 4)), e_.times(column, out_row));
        Values square;
        for (int r = 0; r < e_.lanes; ++r) square.push_back(e_.load(e_.v_i32, e_.at(from, r * row_bytes()), 4));
        square = transpose_square(e_, std::move(square));
        Value* left = e_.b.CreateSub(columns, column);
        for (int c = 0; c < e_.lanes; ++c) {
          Value* exists = e_.splat(e_.b.CreateICmpSGT(left, e_.num(c)));
          e_.masked_store(square[static_cast<size_t>(c)], e_.at(to, c * out_row), e_.b.CreateAnd(inside, exists));
        }
        return Values{};
      });
      return Values{};
    });
    e_.end_function();
    return f;
  }

  // Steps through x as tiles see it.
  int64_t x_step() const { return plan_.only_places ? 1 : w_.stride_x; }
  Axis axis_down() {
    if (plan_.only_places) return {1, 1, 1, p_.out_height, e_.num(0)};
    return {w_.kernel_height, w_.stride_y, w_.dilation_y, p_.height, p_.pad_top};
  }
  Axis axis_across() {
    if (plan_.only_places) return {1, 1, 1, p_.out_width, e_.num(0)};
    return {w_.kernel_width, w_.stride_x, w_.dilation_x, p_.width, p_.pad_left};
  }
  void take_places(Axis& axis, Value* first, Value* most, Value* places) {
    axis.first = first;
    axis.count = e_.smaller(most, e_.b.CreateSub(places, first));
    Value* start = e_.b.CreateSub(e_.times(first, axis.stride), axis.pad);
    Value* reach = e_.times(e_.b.CreateSub(axis.count, e_.num(1)), axis.stride);
    Value* end = e_.b.CreateAdd(e_.b.CreateAdd(start, reach), e_.num((axis.kernel - 1) * axis.dilation + 1));
    axis.seen_first = e_.larger(start, e_.num(0));
    axis.seen = e_.larger(e_.b.CreateSub(e_.smaller(end, axis.extent), axis.seen_first), e_.num(0));
  }

  void one_item(Value* item) {
    Value* channel_block = e_.b.CreateURem(item, e_.num(s_.channel_blocks()));
    Value* rest = e_.b.CreateUDiv(item, e_.num(s_.channel_blocks()));
    Value* output_block = e_.b.CreateURem(rest, e_.num(s_.output_blocks()));
    rest = e_.b.CreateUDiv(rest, e_.num(s_.output_blocks()));
    Value *group = e_.b.CreateURem(rest, e_.num(s_.groups)), *part = e_.b.CreateUDiv(rest, e_.num(s_.groups));
    const Block block = {group, e_.times(output_block, s_.block_outputs), e_.times(channel_block, s_.block_channels)};
    emit_zero(e_, frame_.scratch, s_.sums_bytes(taps_));
    Value *down = up(p_.out_height, block_rows_), *across = up(p_.out_width, block_columns_);
    Value* blocks = e_.b.CreateMul(up(images_, block_images_), e_.b.CreateMul(down, across));
    Value* begin = e_.b.CreateUDiv(e_.b.CreateMul(part, blocks), parts_);
    Value* end = e_.b.CreateUDiv(e_.b.CreateMul(e_.b.CreateAdd(part, e_.num(1)), blocks), parts_);
    e_.loop(begin, end, 1, {}, [&](Value* i, const Values&) {
      Value *above = e_.b.CreateUDiv(i, across), *image = e_.b.CreateUDiv(above, down);
      Axis y = axis_down(), x = axis_across();
      take_places(y, e_.b.CreateMul(e_.b.CreateURem(above, down), block_rows_), block_rows_, p_.out_height);
      take_places(x, e_.b.CreateMul(e_.b.CreateURem(i, across), block_columns_), block_columns_, p_.out_width);
      add_places(block, e_.b.CreateMul(image, block_images_), y, x);
      return Values{};
    });
    store_sums(block, part);
  }

  // What an item computes: the outputs and channels of a group from these on.
  struct Block {
    Value *group, *output, *channel;
  };
  Value* left(Value* first, int64_t in_block, int64_t of) {  // of the outputs or channels of a block
    return e_.smaller(e_.num(in_block), e_.b.CreateSub(e_.num(of), first));
  }
  Value* outputs_of(const Block& block) { return left(block.output, s_.block_outputs, s_.outputs); }
  Value* channels_of(const Block& block) { return left(block.channel, s_.block_channels, s_.channels); }

  void add_places(const Block& block, Value* image, const Axis& y, const Axis& x) {
    Value* images = e_.smaller(block_images_, e_.b.CreateSub(images_, image));
    // d [images, out_height, out_width, outputs].
    Value* d_row = e_.times(p_.out_width, pack_d_.place_bytes);
    Value* d_image = e_.b.CreateMul(d_row, p_.out_height);
    Value* d = e_.at(e_.pointer<&A::d>(frame_), e_.b.CreateMul(image, d_image));
    d = e_.at(d, e_.b.CreateAdd(e_.b.CreateMul(y.first, d_row), e_.times(x.first, pack_d_.place_bytes)));
    const Panels of_d = {e_.times(x.count, row_bytes()), e_.b.CreateMul(y.count, e_.times(x.count, row_bytes()))};
    call(pack_d_, d, block.group, block.output, outputs_of(block), d_panels_, d_panel_bytes_,
         {images, y.count, x.count, d_image, d_row, of_d.image, of_d.row});
    // x [images, height, width, channels].
    Value* x_line = e_.times(p_.width, pack_x_.place_bytes);
    Value* x_image = e_.b.CreateMul(x_line, p_.height);
    Value* x_row = e_.times(x_line, plan_.only_places ? w_.stride_y : 1);
    Value* from = e_.at(e_.pointer<&A::x>(frame_), e_.b.CreateMul(image, x_image));
    from = e_.at(from, e_.b.CreateAdd(e_.b.CreateMul(y.seen_first, x_row), e_.times(x.seen_first, pack_x_.step_bytes)));
    const int64_t pixel = s_.x_columns() * 4;
    const Panels of_x = {e_.times(x.seen, pixel), e_.b.CreateMul(y.seen, e_.times(x.seen, pixel))};
    Value* x_panel_bytes = e_.b.CreateMul(images, of_x.image);
    call(pack_x_, from, block.group, s_.depthwise ? block.output : block.channel,
         s_.depthwise ? outputs_of(block) : channels_of(block), x_panels_, x_panel_bytes,
         {images, y.seen, x.seen, x_image, x_row, of_x.image, of_x.row});
    each_panel(outputs_of(block), s_.columns(), [&](Value* output_panel) {
      Value* d_panel = e_.at(d_panels_, e_.b.CreateMul(output_panel, d_panel_bytes_));
      Value* sums = e_.at(frame_.scratch, e_.times(output_panel, s_.sum_rows(taps_) * row_bytes()));
      const auto with_x = [&](Value* panel, Value* first_sums) {
        each_tap(images, y, x, d_panel, of_d, e_.at(x_panels_, e_.b.CreateMul(panel, x_panel_bytes)), of_x, first_sums);
      };
      if (s_.depthwise) return with_x(output_panel, sums);
      each_panel(channels_of(block), s_.rows, [&](Value* panel) {
        with_x(panel, e_.at(sums, e_.times(panel, s_.rows * row_of_channel() * row_bytes())));
      });
    });
  }

  struct Panels {  // bytes from row to row and from image to image of packed places
    Value *row, *image;
  };
  struct Places {
    Value *images, *rows, *columns, *from_image, *from_row, *to_image, *to_row;
  };
  template <class Body>
  void each_panel(Value* channels, int64_t width, Body body) {
    e_.loop(
        e_.num(0), up(channels, e_.num(width)), 1, {},
        [&](Value* panel, const Values&) {
          body(panel);
          return Values{};
        },
        true);
  }

  // Channels `first`, … of a group, `count` of them, to panels. A panel may go on behind the channels of the block.
  void call(const Pack& pack, Value* from, Value* group, Value* first, Value* count, Value* to, Value* panel_bytes,
            const Places& places) {
    from = e_.at(from, e_.times(e_.b.CreateAdd(e_.times(group, pack.channels), first), size_bytes(pack.dtype)));
    Value* left = e_.b.CreateSub(e_.num(pack.channels), first);
    Value* whole = e_.smaller(up(count, e_.num(pack.width)), e_.b.CreateUDiv(left, e_.num(pack.width)));
    Value* rest = e_.b.CreateZExt(e_.b.CreateICmpSGT(count, e_.times(whole, pack.width)), e_.i64);
    e_.b.CreateCall(pack.function, {from, to, places.images, places.rows, places.columns, places.from_image,
                                    places.from_row, places.to_image, places.to_row, whole, rest, panel_bytes});
  }

  // The places of a block at which a tap lies in the plane: where they start among its places and among what it sees.
  struct Inside {
    Value *place, *seen, *count;
  };
  Inside inside(const Axis& axis, Value* tap) {
    Value* before = e_.b.CreateSub(axis.pad, e_.times(tap, axis.dilation));
    const auto places_to = [&](Value* element) {  // that lie before it
      Value* distance = e_.larger(e_.b.CreateAdd(element, before), e_.num(0));
      return e_.b.CreateUDiv(e_.b.CreateAdd(distance, e_.num(axis.stride - 1)), e_.num(axis.stride));
    };
    Value* begin = e_.larger(places_to(e_.num(0)), axis.first);
    Value* end = e_.smaller(places_to(axis.extent), e_.b.CreateAdd(axis.first, axis.count));
    Value* element = e_.b.CreateSub(e_.times(begin, axis.stride), before);
    return {e_.b.CreateSub(begin, axis.first), e_.b.CreateSub(element, axis.seen_first), e_.b.CreateSub(end, begin)};
  }

  void each_tap(Value* images, const Axis& y, const Axis& x, Value* d, const Panels& of_d, Value* of_x_from,
                const Panels& of_x, Value* sums) {
    const int64_t y_step = plan_.only_places ? 1 : w_.stride_y;
    e_.loop(e_.num(0), e_.num(y.kernel), 1, {}, [&](Value* i, const Values&) {
      const Inside down = inside(y, i);
      e_.when(e_.b.CreateICmpSGT(down.count, e_.num(0)), [&] {
        Value* d_rows = e_.at(d, e_.b.CreateMul(down.place, of_d.row));
        Value* x_rows = e_.at(of_x_from, e_.b.CreateMul(down.seen, of_x.row));
        e_.loop(e_.num(0), e_.num(x.kernel), 1, {}, [&](Value* j, const Values&) {
          const Inside across = inside(x, j);
          Value* tap = e_.b.CreateAdd(e_.times(i, x.kernel), j);
          e_.when(e_.b.CreateICmpSGT(across.count, e_.num(0)), [&] {
            e_.b.CreateCall(tile_, {e_.at(x_rows, e_.times(across.seen, s_.x_columns() * 4)),
                                    e_.at(d_rows, e_.times(across.place, row_bytes())),
                                    e_.at(sums, e_.times(tap, row_of_tap() * row_bytes())), images, down.count,
                                    across.count, of_x.image, e_.times(of_x.row, y_step), of_d.image, of_d.row});
          });
          return Values{};
        });
      });
      return Values{};
    });
  }

  // Rows of dW are outputs.
  void store_sums(const Block& block, Value* part) {
    const int64_t elements = plan_.channels * taps_;  // of a row
    Value* row = e_.b.CreateAdd(e_.times(block.group, s_.outputs), block.output);
    row = e_.b.CreateAdd(row, e_.times(part, plan_.groups * plan_.outputs));
    Value* out = e_.at(results_, e_.times(row, elements * 4));
    out = e_.at(out, e_.times(block.channel, (plan_.matrix ? 1 : taps_) * 4));
    Value *channels = channels_of(block), *outputs = outputs_of(block);
    each_panel(outputs, s_.columns(), [&](Value* panel) {
      Value* sums = e_.at(frame_.scratch, e_.times(panel, s_.sum_rows(taps_) * row_bytes()));
      Value* rows_of_dw = e_.at(out, e_.times(panel, s_.columns() * elements * 4));
      Value* columns = e_.smaller(e_.num(s_.columns()), e_.b.CreateSub(outputs, e_.times(panel, s_.columns())));
      const auto store = [&](Value* from, Value* to, Value* rows) {
        e_.b.CreateCall(store_, {from, to, rows, columns});
      };
      if (!plan_.matrix) return store(sums, rows_of_dw, e_.times(channels, taps_));
      e_.loop(e_.num(0), e_.num(taps_), 1, {}, [&](Value* tap, const Values&) {
        store(e_.at(sums, e_.times(tap, row_of_tap() * row_bytes())),
              e_.at(rows_of_dw, e_.times(tap, plan_.channels * 4)), channels);
        return Values{};
      });
    });
  }

  X86Emitter& e_;
  const X86ConvWeightGradientPlan& plan_;
  const PlaneWindow& w_;
  const std::string symbol_;
  const WeightGradientShape s_;
  const int64_t taps_;
  Function *tile_ = nullptr, *store_ = nullptr;
  Pack pack_d_, pack_x_;
  KernelFrame frame_{};
  PlaneValues p_{};
  Value *images_ = nullptr, *block_images_ = nullptr, *block_rows_ = nullptr, *block_columns_ = nullptr,
        *parts_ = nullptr, *results_ = nullptr;
  Value *d_panels_ = nullptr, *x_panels_ = nullptr, *d_panel_bytes_ = nullptr;
};

// Elements [begin, end) of dW, the parts in order.
void emit_join(X86Emitter& e, const X86ConvWeightGradientPlan& plan, const std::string& symbol) {
  const KernelFrame frame = e.begin_kernel(symbol);
  Value *parts = e.pointer<&A::parts>(frame), *out = e.pointer<&A::dw>(frame);
  Value* more = e.b.CreateSub(e.size<&A::part_count>(frame), e.num(1));
  const int64_t part_bytes = plan.elements() * 4;
  e.loop(frame.begin, frame.end, e.lanes, {}, [&](Value* element, const Values&) {
    Value *mask = e.tail_mask(e.b.CreateSub(frame.end, element)), *offset = e.times(element, 4);
    const X86Emitter::Moving moving[] = {{e.at(e.at(parts, offset), part_bytes), part_bytes}};
    const Values sum = e.walk(more, moving, {e.masked_load(e.v_f32, e.at(parts, offset), mask)},
                              [&](const Values& p, const Values& now) {
                                return Values{e.b.CreateFAdd(now[0], e.masked_load(e.v_f32, p[0], mask))};
                              });
    e.masked_store(sum[0], e.at(out, offset), mask);
    return Values{};
  });
  e.end_function();
}

}  // namespace

void emit_conv_weight_gradient(X86Emitter& e, const X86ConvWeightGradientPlan& plan, const std::string& symbol,
                               int shrink) {
  if (plan.task == X86ConvWeightGradientPlan::Task::join) emit_join(e, plan, symbol);
  else ConvWeightGradientKernel(e, plan, symbol, shrink).emit();
}

}  // namespace hone
