// Products of matrices: wmma.mma and mma, and movmatrix (PTX ISA 9.1, section 9.7.14). matrix_sum.hpp says how sums are
// rounded.
#include <algorithm>
#include <array>
#include <cmath>

#include "launch.hpp"
#include "matrix.hpp"
#include "matrix_operations.hpp"
#include "matrix_sum.hpp"

namespace simt {
namespace {

// Of so many single products as an ordinary instruction takes: what budgets count, so that loops without an end are
// told as soon whatever is in them.
constexpr std::uint64_t kProductsOfInstruction = 32;

// The dense matrix behind a fragment: its elements' bits, line by line.
template <Fragment F, class Element>
void gather(const Warp& warp, const std::uint32_t* operands, Element* matrix) {
    static constexpr Places places = places_of(F, true);
    using Register = std::conditional_t<F.number == Number::f64, std::uint64_t, std::uint32_t>;
    const std::uint16_t* place = places.data();
    for (int reg = 0; reg < F.distinct(); ++reg) {
        const Register* from = warp.source<Register>(operands[reg]);
        for (int part = 0; part < F.parts(); ++part, place += kLanes)
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                Register bits = from[lane] >> 32 / F.parts() * part % (8 * static_cast<int>(sizeof(Register)));
                if constexpr (bytes_of(F.number) < 4) bits &= (1u << 8 * bytes_of(F.number)) - 1;
                matrix[place[lane]] = static_cast<Element>(bits);
            }
    }
}

template <Fragment F, class Element>
void scatter(Warp& warp, const std::uint32_t* operands, const Element* matrix) {
    static constexpr Places places = places_of(F, true);
    using Register = std::conditional_t<F.number == Number::f64, std::uint64_t, std::uint32_t>;
    const std::uint16_t* place = places.data();
    for (int reg = 0; reg < F.distinct(); ++reg) {
        alignas(64) std::array<Register, kLanes> values{};
        for (int part = 0; part < F.parts(); ++part, place += kLanes)
            for (std::size_t lane = 0; lane < kLanes; ++lane)
                values[lane] |= static_cast<Register>(matrix[place[lane]]) << 32 / F.parts() * part % 64;
        warp.assign(operands[reg], values.data());
    }
}

// ---- floats ---------------------------------------------------------------------------------------------------------

// An operand taken apart, as rows of elements that are multiplied at the same time.
template <int Size>
struct Apart {
    alignas(64) std::array<float, Size> significand;
    alignas(64) std::array<std::int32_t, Size> exponent;
    bool special = false;
};

template <Number T, int Size>
void take_apart(const std::uint32_t* bits, Apart<Size>& out) {
    std::uint32_t special = 0;
    for (std::size_t i = 0; i < Size; ++i) {
        bool found = false;
        const Parts parts = apart<T>(bits[i], found);
        out.significand[i] = parts.significand;
        out.exponent[i] = parts.exponent;
        special |= found;
    }
    out.special = special != 0;
}

template <int Lines, int Depth>
void transpose(const std::uint32_t* from, std::uint32_t* to) {
    for (int line = 0; line < Lines; ++line)
        for (int deep = 0; deep < Depth; ++deep) to[deep * Lines + line] = from[line * Depth + deep];
}

// One row of the result: c += the products of `steps` elements of a row of A with N columns of B, all at once.
template <int N>
void add_products(const SumModel& model, const float* a, const std::int32_t* a_exponent, const float* b,
                  const std::int32_t* b_exponent, int steps, const Apart<N>& c, double* sum) {
    alignas(64) std::array<std::int32_t, N> most, total{};
    for (int n = 0; n < N; ++n) most[n] = std::max(c.exponent[n], model.least_exponent);
    for (int k = 0; k < steps; ++k)
        for (int n = 0; n < N; ++n) {
            const std::int32_t exponent = a_exponent[k] + b_exponent[k * N + n];
            most[n] = exponent > most[n] ? exponent : most[n];
        }
    // A significand times 2^(digits - distance), as an integer: cut toward zero. Far below, nothing is left.
    const auto cut = [&model](float significand, std::int32_t distance) {
        const std::int32_t shift = model.digits - distance;
        const std::uint32_t bits = static_cast<std::uint32_t>((shift > -8 ? shift : -8) + 127) << 23;
        float scale;
        std::memcpy(&scale, &bits, sizeof scale);
        return static_cast<std::int32_t>(significand * scale);
    };
    for (int k = 0; k < steps; ++k)
        for (int n = 0; n < N; ++n)  // at most 16 products below 4: within 32 bits
            total[n] += cut(a[k] * b[k * N + n], most[n] - a_exponent[k] - b_exponent[k * N + n]);
    for (int n = 0; n < N; ++n) {
        const double whole = static_cast<double>(total[n]) + cut(c.significand[n], most[n] - c.exponent[n]);
        sum[n] = whole * power_of_two(most[n] - model.digits);
    }
}

// False where one of the numbers is infinite or a NaN: `sum` is then what comes of those, in whatever order they are
// added.
template <Number AB, Number C>
bool is_finite_sum(const std::uint32_t* a, const std::uint32_t* b, int depth, std::uint32_t c, double& sum) {
    const float added = number_of<C>(c);
    bool finite = std::isfinite(added);
    float total = finite ? 0.0f : added;
    for (int k = 0; k < depth; ++k) {
        const float left = number_of<AB>(a[k]), right = number_of<AB>(b[k]);
        if (std::isfinite(left) && std::isfinite(right)) continue;
        finite = false;
        total += left * right;
    }
    if (!finite) sum = total;
    return finite;
}

template <Number D>
std::uint32_t special_bits(float value) {
    if constexpr (D == Number::f16) return bits_of<F16>(value);
    if (value != value) return 0x7fffffff;
    return value > 0 ? 0x7f800000 : 0xff800000;
}

template <Number D>
std::uint32_t rounded(double sum) {
    return D == Number::f16 ? unsigned_zero(to_f16(sum)) : to_f32(sum);
}

// .satfinite: infinities become the largest number, NaN +0.
template <Number D>
std::uint32_t made_finite(std::uint32_t bits) {
    constexpr std::uint32_t infinity = D == Number::f16 ? std::uint32_t{F16::infinity} : 0x7f800000;
    constexpr std::uint32_t sign = D == Number::f16 ? kSign : 0x80000000;
    const std::uint32_t size = bits & (sign - 1);
    return size > infinity ? 0 : size == infinity ? (bits & sign) | (infinity - 1) : bits;
}

// d = a b + c for dense matrices of bits: a row by row, b column by column. C is the type of c and d.
template <int M, int N, int K, Number AB, Number C>
void multiply_alike(const SumModel& model, const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
                    std::uint32_t* d) {
    alignas(64) std::array<std::uint32_t, N * K> b_across;
    transpose<N, K>(b, b_across.data());
    Apart<M * K> a_apart;
    Apart<N * K> b_apart;
    take_apart<AB>(a, a_apart);
    take_apart<AB>(b_across.data(), b_apart);
    constexpr int deepest = AB == Number::tf32 && N == 16 ? 4 : K;  // of wmma, ptxas makes two products for any target
    const int step = std::min(deepest, model.bytes_a_step / bytes_of(AB));
    const bool special = a_apart.special || b_apart.special;
    for (int m = 0; m < M; ++m) {
        std::uint32_t* row = d + m * N;
        std::copy_n(c + m * N, N, row);
        for (int k = 0; k < K; k += step) {
            alignas(64) std::array<double, N> sum;
            Apart<N> added;
            take_apart<C>(row, added);
            add_products<N>(model, a_apart.significand.data() + m * K + k, a_apart.exponent.data() + m * K + k,
                            b_apart.significand.data() + k * N, b_apart.exponent.data() + k * N, step, added,
                            sum.data());
            const bool finite = !special && !added.special;
            for (std::size_t n = 0; n < N; ++n)
                row[n] = finite || is_finite_sum<AB, C>(a + m * K + k, b + n * K + k, step, row[n], sum[n])
                             ? rounded<C>(sum[n])
                             : special_bits<C>(static_cast<float>(sum[n]));
        }
    }
}

// Where c and d differ, one of them is f32, and so is the sum: an f16 is converted before or after.
template <int M, int N, int K, Number AB, Number C, Number D>
void multiply_dense(const SumModel& model, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* c,
                    std::uint32_t* d) {
    constexpr Number sum = C == D ? C : Number::f32;
    if (C != sum)
        for (int i = 0; i < M * N; ++i) c[i] = std::bit_cast<std::uint32_t>(number_of<C>(c[i]));
    multiply_alike<M, N, K, AB, sum>(model, a, b, c, d);
    if (D != sum)
        for (int i = 0; i < M * N; ++i) {
            const auto value = std::bit_cast<float>(d[i]);
            d[i] = std::isfinite(value) ? to_f16(value) : special_bits<Number::f16>(value);
        }
}

template <int M, int N, int K, Number AB, Number C, Number D, int A, int B, bool Finite>
void multiply_floats(Warp& warp, const Instruction& instruction) {
    constexpr Fragment fa{Role::a, AB, M, K, A}, fb{Role::b, AB, N, K, B};
    constexpr Fragment fc{Role::accumulator, C, M, N, C == Number::f16 ? M * N / 64 : M * N / 32};
    constexpr Fragment fd{Role::accumulator, D, M, N, D == Number::f16 ? M * N / 64 : M * N / 32};
    warp.instructions += M * N * K / kProductsOfInstruction;
    const std::uint32_t* operands = operands_of(warp, instruction);
    const std::uint32_t *from_a = operands + fd.registers, *from_b = from_a + A, *from_c = from_b + B;
    alignas(64) std::array<std::uint32_t, M * K> a;
    alignas(64) std::array<std::uint32_t, N * K> b;
    alignas(64) std::array<std::uint32_t, M * N> c, d;
    gather<fa>(warp, from_a, a.data());
    gather<fb>(warp, from_b, b.data());
    gather<fc>(warp, from_c, c.data());
    const SumModel model = sum_model(warp.block->launch->program->target);
    multiply_dense<M, N, K, AB, C, D>(model, a.data(), b.data(), c.data(), d.data());
    if (Finite) std::transform(d.begin(), d.end(), d.begin(), made_finite<D>);
    scatter<fd>(warp, operands, d.data());
}

// ---- doubles, integers ----------------------------------------------------------------------------------------------

// One product after the other, each fused with its addition.
template <int M, int N, int K>
void multiply_doubles(Warp& warp, const Instruction& instruction) {
    constexpr Fragment fa{Role::a, Number::f64, M, K, M * K / 32}, fb{Role::b, Number::f64, N, K, N * K / 32};
    constexpr Fragment fc{Role::accumulator, Number::f64, M, N, M * N / 32};
    warp.instructions += M * N * K / kProductsOfInstruction;
    const std::uint32_t* operands = operands_of(warp, instruction);
    std::array<std::uint64_t, M * K> a;
    std::array<std::uint64_t, N * K> b;
    std::array<std::uint64_t, M * N> c;
    gather<fa>(warp, operands + fc.registers, a.data());
    gather<fb>(warp, operands + fc.registers + fa.registers, b.data());
    gather<fc>(warp, operands + fc.registers + fa.registers + fb.registers, c.data());
    for (int m = 0; m < M; ++m)
        for (int n = 0; n < N; ++n) {
            double sum = std::bit_cast<double>(c[m * N + n]);
            for (int k = 0; k < K; ++k)
                sum = std::fma(std::bit_cast<double>(a[m * K + k]), std::bit_cast<double>(b[n * K + k]), sum);
            c[m * N + n] = std::bit_cast<std::uint64_t>(sum);
        }
    scatter<fc>(warp, operands, c.data());
}

template <Number T>
std::int32_t integer_of(std::uint32_t bits) {
    return T == Number::s8 ? static_cast<std::int8_t>(bits) : static_cast<std::uint8_t>(bits);
}

template <int M, int N, int K, Number TA, Number TB, bool Finite>
void multiply_integers(Warp& warp, const Instruction& instruction) {
    constexpr Fragment fa{Role::a, TA, M, K, M * K / 128}, fb{Role::b, TB, N, K, N * K / 128};
    constexpr Fragment fc{Role::accumulator, Number::s32, M, N, M * N / 32};
    warp.instructions += M * N * K / kProductsOfInstruction;
    const std::uint32_t* operands = operands_of(warp, instruction);
    std::array<std::uint32_t, M * K> a;
    std::array<std::uint32_t, N * K> b;
    std::array<std::uint32_t, M * N> c;
    gather<fa>(warp, operands + fc.registers, a.data());
    gather<fb>(warp, operands + fc.registers + fa.registers, b.data());
    gather<fc>(warp, operands + fc.registers + fa.registers + fb.registers, c.data());
    for (int m = 0; m < M; ++m)
        for (int n = 0; n < N; ++n) {
            std::int32_t sum = 0;
            for (int k = 0; k < K; ++k) sum += integer_of<TA>(a[m * K + k]) * integer_of<TB>(b[n * K + k]);
            std::int64_t total = std::int64_t{static_cast<std::int32_t>(c[m * N + n])} + sum;
            if (Finite) total = std::clamp<std::int64_t>(total, INT32_MIN, INT32_MAX);
            c[m * N + n] = static_cast<std::uint32_t>(total);
        }
    scatter<fc>(warp, operands, c.data());
}

// The transpose of a tile of 8 x 8 elements of 16 bits.
void move_matrix(Warp& warp, const Instruction& instruction) {
    constexpr Fragment tile{Role::a, Number::f16, 8, 8, 1};
    const std::uint32_t* operands = operands_of(warp, instruction);
    std::array<std::uint32_t, 64> from, to;
    gather<tile>(warp, operands + 1, from.data());
    transpose<8, 8>(from.data(), to.data());
    scatter<tile>(warp, operands, to.data());
}

// ---- names ----------------------------------------------------------------------------------------------------------

std::string registers(int d, int a, int b, int c, bool wide = false) {
    return joined({"*", repeated(wide ? 'W' : 'w', d), repeated(wide ? 'R' : 'r', a + b + c)});
}

template <int M, int N, int K, Number AB, Number C, Number D, int A, int B>
void add_floats(OperationTable& table, std::string_view name) {
    const std::string operands =
        registers(M * N / (D == Number::f16 ? 64 : 32), A, B, M * N / (C == Number::f16 ? 64 : 32));
    const std::string types = joined({name_of(D), ".", name_of(AB), ".", name_of(AB), ".", name_of(C)});
    table.add({name, ".", types}, operands, multiply_floats<M, N, K, AB, C, D, A, B, false>);
    if (AB == Number::f16 && name.starts_with("wmma"))
        table.add({name, ".", types, ".satfinite"}, operands, multiply_floats<M, N, K, AB, C, D, A, B, true>);
}

template <int M, int N, int K, int A, int B>
void add_halves(OperationTable& table, std::string_view name) {
    add_floats<M, N, K, Number::f16, Number::f32, Number::f32, A, B>(table, name);
    add_floats<M, N, K, Number::f16, Number::f16, Number::f32, A, B>(table, name);
    add_floats<M, N, K, Number::f16, Number::f32, Number::f16, A, B>(table, name);
    add_floats<M, N, K, Number::f16, Number::f16, Number::f16, A, B>(table, name);
}

template <int M, int N, int K, Number T>
void add_floats_of(OperationTable& table, std::string_view name) {
    constexpr int elements = kLanes * 4 / bytes_of(T);
    add_floats<M, N, K, T, Number::f32, Number::f32, M * K / elements, N * K / elements>(table, name);
}

template <int M, int N, int K, Number TA, Number TB>
void add_integers_of(OperationTable& table, std::string_view name) {
    const std::string operands = registers(M * N / 32, M * K / 128, N * K / 128, M * N / 32);
    const std::string types = joined({"s32.", name_of(TA), ".", name_of(TB), ".s32"});
    table.add({name, ".", types}, operands, multiply_integers<M, N, K, TA, TB, false>);
    table.add({name, ".", types, ".satfinite"}, operands, multiply_integers<M, N, K, TA, TB, true>);
}

template <int M, int N, int K>
void add_integers(OperationTable& table, std::string_view name) {
    add_integers_of<M, N, K, Number::s8, Number::s8>(table, name);
    add_integers_of<M, N, K, Number::u8, Number::u8>(table, name);
}

template <int M, int N, int K>
void add_mixed_integers(OperationTable& table, std::string_view name) {
    add_integers_of<M, N, K, Number::s8, Number::u8>(table, name);
    add_integers_of<M, N, K, Number::u8, Number::s8>(table, name);
}

template <int M, int N>
void add_wmma(OperationTable& table, std::string_view name) {
    add_halves<M, N, 16, 8, 8>(table, name);
    add_floats_of<M, N, 16, Number::bf16>(table, name);
    add_integers<M, N, 16>(table, name);
}

}  // namespace

void add_product_operations(OperationTable& table) {
    add_wmma<16, 16>(table, "wmma.mma.m16n16k16");
    add_wmma<32, 8>(table, "wmma.mma.m32n8k16");
    add_wmma<8, 32>(table, "wmma.mma.m8n32k16");
    add_floats_of<16, 16, 8, Number::tf32>(table, "wmma.mma.m16n16k8");
    table.add("wmma.mma.m8n8k4.f64.f64.f64.f64", registers(2, 1, 1, 2, true), multiply_doubles<8, 8, 4>);
    add_halves<16, 8, 16, 4, 2>(table, "mma.m16n8k16");
    add_halves<16, 8, 8, 2, 1>(table, "mma.m16n8k8");
    add_floats_of<16, 8, 16, Number::bf16>(table, "mma.m16n8k16");
    add_floats_of<16, 8, 8, Number::bf16>(table, "mma.m16n8k8");
    add_floats_of<16, 8, 8, Number::tf32>(table, "mma.m16n8k8");
    add_floats_of<16, 8, 4, Number::tf32>(table, "mma.m16n8k4");
    table.add("mma.m8n8k4.f64.f64.f64.f64", registers(2, 1, 1, 2, true), multiply_doubles<8, 8, 4>);
    add_integers<16, 8, 16>(table, "mma.m16n8k16");
    add_integers<16, 8, 32>(table, "mma.m16n8k32");
    add_integers<8, 8, 16>(table, "mma.m8n8k16");
    add_mixed_integers<16, 8, 16>(table, "mma.m16n8k16");
    add_mixed_integers<16, 8, 32>(table, "mma.m16n8k32");
    add_mixed_integers<8, 8, 16>(table, "mma.m8n8k16");
    table.add("movmatrix.b16", "*wr", move_matrix);
}

}  // namespace simt
