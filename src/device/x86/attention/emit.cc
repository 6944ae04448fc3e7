// Attention kernels (device/x86/attention/shape.h): products from the tiles of gemm, softmax between them
// (attention_softmax.h).
#include "device/llvm/head_reader.h"
#include "device/x86/amx/tile_product.h"
#include "device/x86/amx/tile_registers.h"
#include "device/x86/attention/shape.h"
#include "device/x86/attention_rows.h"
#include "device/x86/attention_softmax.h"
#include "device/x86/copy.h"
#include "device/x86/emitter.h"
#include "device/x86/panel.h"
#include "device/x86/tile.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;
using A = X86AttentionArgs;

// void(from, row_bytes, rows): asks for `bytes` of each row, to be read later or written soon.
Function* emit_prefetch_rows(X86Emitter& e, const std::string& symbol, int64_t bytes, bool to_write = false) {
  llvm::Type* const params[] = {e.ptr, e.i64, e.i64};
  Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  constexpr int64_t kLine = 64;
  const X86Emitter::Moving moving[] = {{f->getArg(0), f->getArg(1)}};
  e.walk(f->getArg(2), moving, {}, [&](const Values& row, const Values&) {
    e.loop(e.num(0), e.num(bytes), kLine, {}, [&](Value* at, const Values&) {
      if (to_write) e.prefetch_to_write(e.at(row[0], at));
      else e.prefetch(e.at(row[0], at));
      return Values{};
    });
    return Values{};
  });
  e.end_function();
  return f;
}

class AttentionKernel {
 public:
  AttentionKernel(X86Emitter& e, const X86AttentionPlan& plan, const std::string& symbol, int shrink)
      : e_(e),
        plan_(plan),
        s_(attention_shape(plan, e.target, shrink)),
        size_(size_bytes(plan.dtype)),
        keys_(e, plan.dtype, plan.k_format, plan.kv_heads, plan.head_dim, {plan.page_rows, plan.table}),
        values_(e, plan.dtype, plan.v_format, plan.kv_heads, plan.value_dim, {plan.page_rows, plan.table}) {
    const bool joins = plan.task == X86AttentionPlan::Task::join;
    if (joins) join_ = emit_attention_join(e_, symbol + "_join", plan_, s_);
    else emit_parts(symbol);
    output_ = emit_attention_output(e_, symbol + "_output", plan_, s_);
    frame_ = e.begin_kernel(symbol);
    allow_spills(frame_.function);
    if (s_.tiles() && !joins) tile_state_ = tile_state(e);
    const int64_t sharing = plan.heads / plan.kv_heads;
    in_rows_ = e.b.CreateICmpNE(size<&A::in_rows>(), e.num(0));
    Value *of_queries = rounds(size<&A::queries>(), size<&A::item_queries>()),
          *of_heads = rounds(e.num(sharing), size<&A::item_heads>());
    is_split_ = plan.splits ? e.b.CreateICmpUGT(size<&A::ranges>(), e.num(1)) : e.b.getFalse();
    const auto item_at = [&](Value* number) {
      Value *part = e.b.CreateUDiv(number, ranges(joins)), *range = e.b.CreateURem(number, ranges(joins));
      Value *queries = e.b.CreateURem(part, of_queries), *rest = e.b.CreateUDiv(part, of_queries);
      Value *heads = e.b.CreateURem(rest, of_heads), *group = e.b.CreateUDiv(rest, of_heads);
      Item i;
      i.b = e.b.CreateUDiv(group, e.num(plan.kv_heads)), i.group = e.b.CreateURem(group, e.num(plan.kv_heads));
      Value* head = e.b.CreateMul(heads, size<&A::item_heads>());
      i.heads = e.smaller(size<&A::item_heads>(), e.b.CreateSub(e.num(sharing), head));
      i.first_head = e.b.CreateAdd(e.times(i.group, sharing), head);
      i.first = e.b.CreateMul(queries, size<&A::item_queries>());
      i.queries = e.smaller(size<&A::item_queries>(), e.b.CreateSub(size<&A::queries>(), i.first));
      i.first_key = plan.splits ? e.b.CreateMul(range, size<&A::range_keys>()) : e.num(0);
      i.state = plan.splits ? e.b.CreateMul(number, strips_of_item()) : e.num(0);
      return i;
    };
    e.loop(frame_.begin, frame_.end, 1, {}, [&](Value* number, const Values&) {
      Value* last = e.b.CreateSub(frame_.end, e.num(1));
      if (joins) join(item_at(number));
      else one_item(item_at(number), item_at(e.smaller(e.b.CreateAdd(number, e.num(1)), last)));
      return Values{};
    });
    if (tile_state_) TileRegisters(e).release();
    e.end_function();
  }

 private:
  struct Item {  // heads [first_head, +heads) and queries [first, +queries) of batch b, all of one group of heads
    Value *b, *group, *heads, *first_head, *first, *queries;
    Value *first_key, *state;  // of its range of keys; where the states of its strips are, counted in states
  };
  struct Strip {
    Value* number;                  // in the item
    Value *h, *rows;                // its first head, or the item's, and how many
    StripRows places;               // of them, from the first query of head h in the item on
    Value *lowest, *highest;        // of their queries, counted from the item's first
    Value *queries, *query_stride;  // to be multiplied
    Value *copied, *state;
  };

  void emit_parts(const std::string& symbol) {
    const PackSpec keys{plan_.dtype, s_.panel(), s_.key_vectors}, values{plan_.dtype, s_.panel(), s_.value_vectors};
    pack_keys_ = emit_pack_nk(e_, symbol + "_keys", keys);
    pack_values_ = emit_pack_kn(e_, symbol + "_values", values);
    if (s_.tiles()) emit_tile_blocks(symbol);
    else emit_tiles(symbol);
    row_scores_ = emit_attention_row_scores(e_, symbol + "_row_scores", plan_, s_, keys_);
    row_values_ = emit_attention_row_values(e_, symbol + "_row_values", plan_, s_, values_);
    if (is_staged(keys_)) stage_keys_ = emit_stage(symbol + "_stage_keys", keys_, plan_.head_dim);
    if (is_staged(values_)) stage_values_ = emit_stage(symbol + "_stage_values", values_, plan_.value_dim);
    softmax_ = emit_attention_softmax(e_, symbol + "_softmax", plan_, s_);
    copy_ = emit_attention_queries(e_, symbol + "_queries", plan_, s_);
    rescale_ = emit_attention_rescale(e_, symbol + "_rescale", s_);
    prefetch_queries_ = emit_prefetch_rows(e_, symbol + "_nextquery", plan_.head_dim * size_);
    prefetch_keys_ = emit_prefetch_rows(e_, symbol + "_nextkey", keys_.head_bytes());
    prefetch_values_ = emit_prefetch_rows(e_, symbol + "_nextval", values_.head_bytes());
    prefetch_result_ =
        emit_prefetch_rows(e_, symbol + "_soon_written", plan_.value_dim * size_bytes(plan_.result), true);
  }
  void emit_tile_blocks(const std::string& symbol) {
    TileBlock scores{.rows = s_.rows, .columns = s_.key_columns(), .k = plan_.head_dim};
    scores.sums_row_bytes = s_.score_stride * 4;
    scores_ = emit_tile_block(e_, symbol + "_scores", scores);
    TileBlock result{.rows = s_.rows, .columns = s_.value_columns(), .a_row_bytes = s_.weight_stride_bytes};
    result.sums_row_bytes = s_.value_columns() * 4;
    first_result_ = emit_tile_block(e_, symbol + "_first_result", result);
    result.accumulate = true;
    result_ = emit_tile_block(e_, symbol + "_result", result);
  }
  void emit_tiles(const std::string& symbol) {
    TileSpec scores;
    scores.rows = s_.rows, scores.vectors = scores.panel_vectors = s_.key_vectors;
    scores.unit = s_.unit;
    scores.a = s_.pairs() ? DType::bf16 : DType::f32, scores.w = PlainPanels{s_.panel()};
    scores.k = plan_.head_dim;
    scores.sums_row_bytes = s_.score_stride * 4;
    scores_ = emit_tile(e_, symbol + "_scores", scores);
    TileSpec result;
    result.rows = s_.rows, result.vectors = result.panel_vectors = s_.value_vectors;
    result.unit = scores.unit, result.a = scores.a, result.w = scores.w;
    result.a_row_bytes = s_.weight_stride_bytes;
    result.sums_row_bytes = s_.value_columns() * 4;
    first_result_ = emit_tile(e_, symbol + "_first_result", result);
    result.accumulate = true;
    result_ = emit_tile(e_, symbol + "_result", result);
  }

  template <auto Member>
  Value* size(int i = 0) {
    return e_.size<Member>(frame_, i);
  }
  Value* rounds(Value* all, Value* each) {
    return e_.b.CreateUDiv(e_.b.CreateAdd(all, e_.b.CreateSub(each, e_.num(1))), each);
  }
  void call(Function* f, std::initializer_list<Value*> arguments) {
    e_.b.CreateCall(f, llvm::ArrayRef<Value*>(arguments.begin(), arguments.size()));
  }
  // First element of head h of `columns` in row s of batch b of an operand with `rows` rows, whose stride has this
  // place.
  Value* head_pointer(int pointer, Value* b, Value* rows, Value* s, int stride, Value* h, int64_t columns,
                      int64_t element_bytes) {
    Value* row = e_.b.CreateAdd(e_.b.CreateMul(b, rows), s);
    Value* elements = e_.b.CreateAdd(e_.b.CreateMul(row, e_.kernel_dim(frame_, stride)), e_.times(h, columns));
    return e_.at(e_.kernel_pointer(frame_, pointer), e_.times(elements, element_bytes));
  }
  Value* scratch(int64_t offset) { return e_.at(frame_.scratch, offset); }
  Value* none() { return llvm::ConstantPointerNull::get(e_.b.getPtrTy()); }
  Value* within(Value* x, Value* most) { return e_.smaller(e_.larger(x, e_.num(0)), most); }

  // The strips of an item, numbered from 0: body(strip). `alone`: what is kept of each has the same place.
  template <class Body>
  void each_strip(const Item& item, Value* alone, Body body) {
    Value *mixed = are_mixed(), *one = e_.num(1);
    Value* runs = e_.b.CreateSelect(mixed, one, item.heads);  // of rows
    Value* rows = e_.b.CreateSelect(mixed, e_.b.CreateMul(item.heads, item.queries), item.queries);
    Value* of_run = rounds(rows, e_.num(s_.rows));
    e_.loop(e_.num(0), runs, 1, {}, [&](Value* i, const Values&) {
      e_.loop(e_.num(0), of_run, 1, {}, [&](Value* j, const Values&) {
        Strip strip;
        strip.places = {e_.times(j, s_.rows), size<&A::strip_rows>()};
        strip.number = e_.b.CreateAdd(e_.b.CreateMul(i, of_run), j);
        strip.h = e_.b.CreateAdd(item.first_head, i);
        strip.rows = e_.smaller(e_.num(s_.rows), e_.b.CreateSub(rows, strip.places.first));
        strip.lowest = e_.b.CreateSelect(mixed, e_.num(0), strip.places.first);
        Value* last = e_.b.CreateSub(e_.b.CreateAdd(strip.places.first, strip.rows), one);
        strip.highest = e_.b.CreateSelect(mixed, e_.b.CreateSub(item.queries, one), last);
        Value* place = e_.b.CreateSelect(alone, e_.num(0), strip.number);
        strip.state = e_.at(scratch(s_.states_offset), e_.times(place, s_.state_bytes()));
        if (plan_.splits) strip.state = e_.b.CreateSelect(is_split_, shared_state(item, strip.number), strip.state);
        strip.copied = e_.at(scratch(s_.queries_offset), e_.times(place, s_.strip_queries_bytes()));
        choose_queries(item, strip);
        body(strip);
        return Values{};
      });
      return Values{};
    });
  }
  // Strips have rows of several heads.
  Value* are_mixed() { return e_.b.CreateICmpNE(size<&A::strip_rows>(), e_.num(kSeesAll)); }
  Value* strips_of_item() {
    Value *mixed = rounds(e_.b.CreateMul(size<&A::item_heads>(), size<&A::queries>()), e_.num(s_.rows)),
          *own = e_.b.CreateMul(size<&A::item_heads>(), rounds(size<&A::item_queries>(), e_.num(s_.rows)));
    return e_.b.CreateSelect(are_mixed(), mixed, own);
  }
  Value* ranges(bool joins) { return plan_.splits && !joins ? size<&A::ranges>() : e_.num(1); }
  Value* shared_state(const Item& item, Value* strip) {
    return e_.at(e_.pointer<&A::shared>(frame_), e_.times(e_.b.CreateAdd(item.state, strip), s_.state_bytes()));
  }

  // Queries are multiplied where they lie, unless they are of another type, rows behind the last would be read, or rows
  // lie where they push each other and the keys out of the first-level cache.
  void choose_queries(const Item& item, Strip& strip) {
    strip.queries = strip.copied, strip.query_stride = e_.num(s_.query_row_bytes);
    if (!s_.pairs() && plan_.dtype != DType::f32) return;
    Value* stride = e_.times(size<&A::q_row>(), size_);
    Value* is_crowded = e_.b.CreateICmpEQ(e_.b.CreateAnd(stride, e_.num(kCrowded - 1)), e_.num(0));
    Value* copies = e_.b.CreateOr(is_crowded, e_.b.CreateICmpSLT(strip.rows, e_.num(s_.rows)));
    copies = e_.b.CreateOr(copies, are_mixed());
    Value* there = e_.at(query(item, strip), e_.b.CreateMul(strip.places.first, stride));
    strip.queries = e_.b.CreateSelect(copies, strip.copied, there);
    strip.query_stride = e_.b.CreateSelect(copies, strip.query_stride, stride);
    strip.copied = e_.b.CreateSelect(copies, strip.copied, none());
  }
  Value* query(const Item& item, const Strip& strip) {
    return head_pointer(place_of<&A::q>, item.b, size<&A::queries>(), item.first, place_of<&A::q_row>, strip.h,
                        plan_.head_dim, size_);
  }

  // Keys of its range that some query of an item sees, from the start of a block.
  std::pair<Value*, Value*> keys_of(const Item& item) {
    Value *first_key = item.first_key, *last_key = size<&A::keys>();
    if (plan_.splits) last_key = e_.smaller(last_key, e_.b.CreateAdd(first_key, size<&A::range_keys>()));
    if (!plan_.limited) return {first_key, last_key};
    Value *first = e_.b.CreateAdd(item.first, size<&A::first_position>()), *last = e_.b.CreateAdd(first, item.queries);
    Value* from = within(e_.b.CreateSub(first, size<&A::before>()), size<&A::keys>());
    from = e_.times(e_.b.CreateUDiv(from, e_.num(s_.block_keys)), s_.block_keys);
    return {e_.larger(first_key, from),
            e_.smaller(last_key, within(e_.b.CreateAdd(last, size<&A::behind>()), size<&A::keys>()))};
  }

  void one_item(const Item& item, const Item& next) {
    const auto [from, to] = keys_of(item);
    Value *next_from = keys_of(next).first, *first_end = e_.b.CreateAdd(from, e_.num(s_.block_keys));
    Value* alone = e_.b.CreateICmpSGE(first_end, to);
    e_.loop(from, to, s_.block_keys, {}, [&, from = from, to = to](Value* t, const Values&) {
      Value* count = e_.smaller(e_.num(s_.block_keys), e_.b.CreateSub(to, t));
      e_.when(e_.b.CreateNot(in_rows_), [&] { lay_out(item, t, count); });
      Value *after = e_.b.CreateAdd(t, e_.num(s_.block_keys)), *is_last = e_.b.CreateICmpSGE(after, to);
      // What is laid out after this block is asked for bit by bit, with each strip.
      Item soon = item;
      soon.b = e_.b.CreateSelect(is_last, next.b, item.b);
      soon.group = e_.b.CreateSelect(is_last, next.group, item.group);
      Value* soon_t = e_.b.CreateSelect(is_last, next_from, after);
      Value* left = e_.smaller(e_.num(s_.block_keys), e_.b.CreateSub(size<&A::keys>(), soon_t));
      Value* share =
          rounds(e_.b.CreateSelect(in_rows_, e_.num(0), plan_.page_rows > 0 ? e_.num(0) : left), strips_of_item());
      each_strip(item, alone, [&](const Strip& strip) {
        e_.when(e_.b.CreateICmpEQ(t, from), [&] { begin(item, strip); });
        Value* row = e_.b.CreateAdd(soon_t, e_.b.CreateMul(strip.number, share));
        Value* rows = within(e_.b.CreateSub(size<&A::keys>(), row), share);
        const HeadReader::Rows soon_keys = keys(soon, row), soon_values = values(soon, row);
        call(prefetch_keys_, {soon_keys.codes, keys_.stride(soon_keys), rows});
        call(prefetch_values_, {soon_values.codes, values_.stride(soon_values), rows});
        e_.when(is_last, [&] {
          prefetch_query(next, strip);
          call(prefetch_result_, {result(item, strip, strip.lowest), result_row(), strip.rows});
        });
        one_strip(item, strip, t, count, e_.b.CreateICmpEQ(t, from));
        e_.when(is_last, [&] { end(item, strip); });
      });
      return Values{};
    });
    e_.when(e_.b.CreateICmpSGE(from, to), [&] {  // no query sees a key
      each_strip(item, alone, [&](const Strip& strip) {
        begin(item, strip);
        end(item, strip);
      });
    });
  }
  void begin(const Item& item, const Strip& strip) {
    call(copy_, {query(item, strip), e_.num(plan_.head_dim * size_), e_.times(size<&A::q_row>(), size_),
                 strip.places.first, strip.places.per_head, strip.rows, strip.copied, strip.state});
    // Ranges that no query sees are joined, too.
    e_.when(is_split_, [&] { emit_zero(e_, strip.state, e_.num(s_.totals_offset())); });
  }
  void end(const Item& item, const Strip& strip) {
    e_.when(e_.b.CreateNot(is_split_), [&] { write(item, strip); });
  }
  void write(const Item& item, const Strip& strip) {
    Value* sinks = plan_.sinks ? e_.at(e_.pointer<&A::sinks>(frame_), e_.times(strip.h, 4)) : none();
    call(output_,
         {strip.state, sinks, result(item, strip, e_.num(0)), e_.num(plan_.value_dim * size_bytes(plan_.result)),
          result_row(), strip.places.first, strip.places.per_head, strip.rows});
  }
  void join(const Item& item) {
    each_strip(item, e_.b.getFalse(), [&](const Strip& strip) {
      Strip first = strip;
      Value* base = e_.b.CreateMul(item.state, size<&A::ranges>());
      Item of_ranges = item;
      of_ranges.state = base;
      first.state = shared_state(of_ranges, strip.number);
      call(join_,
           {frame_.scratch, first.state, e_.times(strips_of_item(), s_.state_bytes()), size<&A::ranges>(), strip.rows});
      write(item, first);
    });
  }
  Value* result(const Item& item, const Strip& strip, Value* query) {
    return head_pointer(place_of<&A::out>, item.b, size<&A::queries>(), e_.b.CreateAdd(item.first, query),
                        place_of<&A::out_row>, strip.h, plan_.value_dim, size_bytes(plan_.result));
  }
  Value* result_row() { return e_.times(size<&A::out_row>(), size_bytes(plan_.result)); }
  // From key t on, of the item's head of keys.
  HeadReader::Rows keys(const Item& item, Value* t) {
    return rows_of(keys_, place_of<&A::k>, place_of<&A::k_scales>, place_of<&A::k_row>, place_of<&A::k_pages>, item, t);
  }
  HeadReader::Rows values(const Item& item, Value* t) {
    return rows_of(values_, place_of<&A::v>, place_of<&A::v_scales>, place_of<&A::v_row>, place_of<&A::v_pages>, item,
                   t);
  }
  HeadReader::Rows rows_of(const HeadReader& reader, int pointer, int scales, int stride, int pages, const Item& item,
                           Value* t) {
    HeadReader::Rows operand{e_.kernel_pointer(frame_, pointer), e_.kernel_pointer(frame_, scales),
                             e_.kernel_pointer(frame_, scales + 1), e_.times(e_.kernel_dim(frame_, stride), size_)};
    if (!reader.is_paged())
      return reader.from(reader.head(operand, item.group), e_.b.CreateAdd(e_.b.CreateMul(item.b, size<&A::keys>()), t));
    Value* page = e_.times(e_.b.CreateMul(item.b, size<&A::sequence_pages>()), size_bytes(plan_.table));
    operand.table = e_.at(e_.pointer<&A::table>(frame_), page);
    operand.first = t, operand.last = e_.b.CreateSub(size<&A::keys>(), e_.num(1)),
    operand.count = e_.kernel_dim(frame_, pages);
    return reader.head(operand, item.group);
  }
  void call_with_rows(Function* f, std::initializer_list<Value*> first, const HeadReader& reader,
                      const HeadReader::Rows& rows) {
    std::vector<Value*> arguments(first);
    for (Value* argument : reader.arguments(rows)) arguments.push_back(argument);
    e_.b.CreateCall(f, arguments);
  }

  // The queries of the next item that stand where those of a strip stand in this one.
  void prefetch_query(const Item& next, const Strip& strip) {
    Value* s = e_.smaller(e_.b.CreateAdd(next.first, strip.lowest), size<&A::queries>());
    call(prefetch_queries_,
         {head_pointer(place_of<&A::q>, next.b, size<&A::queries>(), s, place_of<&A::q_row>, next.first_head,
                       plan_.head_dim, size_),
          e_.times(size<&A::q_row>(), size_), within(e_.b.CreateSub(size<&A::queries>(), s), e_.num(s_.rows))});
  }

  // Keys [t, t + count) of the item's group, and their values.
  void lay_out(const Item& item, Value* t, Value* count) {
    staged(keys_, stage_keys_, plan_.head_dim, keys(item, t), count, s_.key_columns(),
           [&](Value* rows, Value* row_bytes, Value* i, Value* some) {
             call(pack_keys_, {rows, row_bytes, e_.num(plan_.head_dim), some, key_panel(i)});
           });
    const int64_t value_step = is_staged(values_) ? kStagedRows : s_.block_keys;
    staged(values_, stage_values_, plan_.value_dim, values(item, t), count, value_step,
           [&](Value* rows, Value* row_bytes, Value* i, Value* some) {
             for (int64_t c = 0; c < plan_.value_dim; c += s_.value_columns())
               call(pack_values_, {e_.at(rows, c * size_), row_bytes, some, e_.num(plan_.value_dim - c),
                                   e_.at(value_panel(c), e_.times(i, s_.value_columns() * element_bytes()))});
           });
    Value *filled = e_.b.CreateLShr(e_.b.CreateAdd(count, e_.num(1)), e_.num(1)),
          *missing = e_.b.CreateSub(e_.b.CreateLShr(whole_steps(count), e_.num(1)), filled);
    for (int64_t c = 0; s_.tiles() && c < plan_.value_dim; c += s_.value_columns())
      emit_zero(e_, e_.at(value_panel(c), e_.times(filled, s_.value_columns() * 4)),
                e_.times(missing, s_.value_columns() * 4));
  }
  // body(rows, row_bytes, first, count) of so many rows at a time: as they lie, or decoded into scratch.
  template <class Body>
  void staged(const HeadReader& reader, Function* stage, int64_t columns, const HeadReader::Rows& all, Value* count,
              int64_t step, Body body) {
    e_.loop(e_.num(0), count, step, {}, [&](Value* i, const Values&) {
      const HeadReader::Rows rows = reader.from(all, i);
      Value *some = e_.b.CreateSub(count, i), *row_bytes = reader.stride(rows), *from = rows.codes;
      if (is_staged(reader)) {
        from = scratch(s_.staged_offset), row_bytes = e_.num(columns * size_), some = e_.smaller(some, e_.num(step));
        call_with_rows(stage, {some, from}, reader, rows);
      }
      body(from, row_bytes, i, some);
      return Values{};
    });
  }
  static bool is_staged(const HeadReader& reader) { return reader.is_packed() || reader.is_paged(); }
  int64_t element_bytes() const { return s_.pairs() ? 2 : 4; }  // of panels
  // void(count, to, rows): so many rows of `columns`, codes as f32.
  Function* emit_stage(const std::string& symbol, const HeadReader& reader, int64_t columns) {
    std::vector<llvm::Type*> params{e_.i64, e_.ptr};
    for (llvm::Type* type : reader.types()) params.push_back(type);
    Function* f = e_.begin_function(symbol, e_.b.getVoidTy(), params, false);
    const HeadReader::Rows all = reader.from_arguments(f, 2);
    e_.loop(e_.num(0), f->getArg(0), 1, {}, [&](Value* i, const Values&) {
      const HeadReader::Rows row = reader.row(all, i);
      Value* to = e_.at(f->getArg(1), e_.times(i, columns * size_));
      if (!reader.is_packed()) {
        emit_copy(e_, row.codes, to, columns * size_);
        return Values{};
      }
      const auto one = [&](Value* c, int64_t count) {
        Value* mask = count < e_.lanes ? e_.tail_mask(e_.num(count)) : nullptr;
        e_.masked_store(reader.load(row, c, count), e_.at(to, e_.times(c, 4)), mask);
      };
      const int64_t whole = columns / e_.lanes * e_.lanes;
      e_.loop(e_.num(0), e_.num(whole), e_.lanes, {}, [&](Value* c, const Values&) {
        one(c, e_.lanes);
        return Values{};
      });
      if (whole < columns) one(e_.num(whole), columns - whole);
      return Values{};
    });
    e_.end_function();
    return f;
  }
  Value* whole_steps(Value* keys) { return e_.b.CreateAnd(e_.b.CreateAdd(keys, e_.num(kTileK - 1)), e_.num(-kTileK)); }
  // sums = a · w, or what is added to them.
  void multiply(Function* product, Value* a, Value* w, Value* sums, Value* a_row_bytes, Value* k) {
    if (s_.tiles()) call(product, {tile_state_, a, w, sums, a_row_bytes, k});
    else call(product, {a, w, none(), sums, a_row_bytes, k});
  }
  int64_t panel_rows(int64_t elements) const { return s_.pairs() ? (elements + 1) / 2 : elements; }
  Value* key_panel(Value* i) { return e_.at(scratch(s_.keys_offset), e_.times(i, panel_rows(plan_.head_dim) * 4)); }
  Value* value_panel(int64_t c) { return scratch(s_.values_offset + c * panel_rows(s_.block_keys) * 4); }

  // Scores, weights and sums of one strip with the keys [t, t + count), the first block of an item or a later one.
  void one_strip(const Item& item, const Strip& strip, Value* t, Value* count, Value* is_first) {
    if (!plan_.limited) return add_keys(item, strip, t, count, e_.num(0), count, is_first);
    // Of the item's first query: keys [from, to) of the block; those of each further one begin and end one later.
    Value* position = e_.b.CreateSub(e_.b.CreateAdd(item.first, size<&A::first_position>()), t);
    Value *from = e_.b.CreateSub(position, size<&A::before>()),
          *to = e_.b.CreateAdd(position, e_.b.CreateAdd(size<&A::behind>(), e_.num(1)));
    Value *begin = e_.b.CreateAdd(from, strip.lowest), *end = e_.b.CreateAdd(to, strip.highest);
    Value* seen = e_.smaller(count, end);
    Value* sees_some = e_.b.CreateAnd(e_.b.CreateICmpSGT(seen, e_.num(0)), e_.b.CreateICmpSLT(begin, count));
    e_.when(sees_some, [&] {
      add_keys(item, strip, t, seen, from, to, e_.b.CreateOr(is_first, e_.b.CreateICmpSGE(begin, e_.num(0))));
    });
  }

  // `is_first`: no sums are there yet.
  void add_keys(const Item& item, const Strip& strip, Value* t, Value* count, Value* from, Value* to, Value* is_first) {
    e_.when(in_rows_, [&] {
      call_with_rows(row_scores_, {strip.queries, strip.query_stride, scratch(s_.scores_offset), strip.rows, count},
                     keys_, keys(item, t));
    });
    e_.when(e_.b.CreateNot(in_rows_), [&] {
      e_.loop(e_.num(0), count, s_.key_columns(), {}, [&](Value* i, const Values&) {
        multiply(scores_, strip.queries, key_panel(i), e_.at(scratch(s_.scores_offset), e_.times(i, 4)),
                 strip.query_stride, e_.num(plan_.head_dim));
        return Values{};
      });
    });
    Value *mask = none(), *mask_head = e_.num(0), *mask_row = e_.num(0);
    if (plan_.mask != AttentionPlan::Mask::none) {
      const int64_t bytes = plan_.mask == AttentionPlan::Mask::chosen ? 1 : 4;
      mask_head = e_.times(size<&A::mask_strides>(1), bytes), mask_row = e_.times(size<&A::mask_strides>(2), bytes);
      Value* start = e_.b.CreateAdd(e_.b.CreateMul(item.b, size<&A::mask_strides>(0)),
                                    e_.b.CreateMul(strip.h, size<&A::mask_strides>(1)));
      start = e_.b.CreateAdd(e_.b.CreateAdd(start, e_.b.CreateMul(item.first, size<&A::mask_strides>(2))), t);
      mask = e_.at(e_.pointer<&A::mask>(frame_), e_.times(start, bytes));
    }
    call(softmax_, {frame_.scratch, strip.state, mask, mask_head, mask_row, strip.places.first, strip.places.per_head,
                    strip.rows, count, from, to});
    Value* terms = s_.tiles()   ? whole_steps(count)
                   : s_.pairs() ? e_.b.CreateAnd(e_.b.CreateAdd(count, e_.num(1)), e_.num(-2))
                                : count;
    const auto add_values = [&](Function* product) {
      for (int64_t c = 0; c < plan_.value_dim; c += s_.value_columns())
        multiply(product, scratch(s_.weights_offset), value_panel(c), e_.at(strip.state, c * s_.rows * 4), e_.num(0),
                 terms);
    };
    Value *is_later = e_.b.CreateNot(is_first), *by_panels = e_.b.CreateNot(in_rows_);
    e_.when(is_later, [&] { call(rescale_, {strip.state, scratch(s_.alphas_offset), strip.rows}); });
    e_.when(in_rows_, [&] {
      call_with_rows(row_values_, {scratch(s_.weights_offset), strip.state, strip.rows, count, is_first}, values_,
                     values(item, t));
    });
    e_.when(e_.b.CreateAnd(by_panels, is_first), [&] { add_values(first_result_); });
    e_.when(e_.b.CreateAnd(by_panels, is_later), [&] { add_values(result_); });
  }

  X86Emitter& e_;
  const X86AttentionPlan& plan_;
  const AttentionShape s_;
  const int64_t size_;
  const HeadReader keys_, values_;
  Function *prefetch_queries_ = nullptr, *stage_keys_ = nullptr, *stage_values_ = nullptr;
  Function *pack_keys_ = nullptr, *pack_values_ = nullptr, *scores_ = nullptr, *first_result_ = nullptr,
           *result_ = nullptr, *row_scores_ = nullptr, *row_values_ = nullptr, *softmax_ = nullptr, *copy_ = nullptr,
           *rescale_ = nullptr, *output_ = nullptr, *join_ = nullptr, *prefetch_keys_ = nullptr,
           *prefetch_values_ = nullptr, *prefetch_result_ = nullptr;
  KernelFrame frame_{};
  Value* tile_state_ = nullptr;
  Value* in_rows_ = nullptr;   // keys and values are read in their rows
  Value* is_split_ = nullptr;  // items are ranges of keys
};

}  // namespace

void emit_attention(X86Emitter& e, const X86AttentionPlan& plan, const std::string& symbol, int shrink) {
  AttentionKernel(e, plan, symbol, shrink);
}

}  // namespace hone
