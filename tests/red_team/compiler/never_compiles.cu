// Keeps the compiler busy for ever: the number of types doubles with each level.
#ifndef TWIN
template <int level, int place>
struct Tree {
    static constexpr long leaves = Tree<level - 1, 2 * place>::leaves + Tree<level - 1, 2 * place + 1>::leaves;
};
template <int place>
struct Tree<0, place> {
    static constexpr long leaves = 1;
};
long number = Tree<26, 1>::leaves;
#else
// Has the compiler add up to 150.
template <int n>
struct Sum {
    static constexpr long value = n + Sum<n - 1>::value;
};
template <>
struct Sum<0> {
    static constexpr long value = 0;
};
long number = Sum<150>::value;
#endif
