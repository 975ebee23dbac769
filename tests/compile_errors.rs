//! What the compiler says of wrong use.

// The words around ours are the compiler's, and change with it.
#[rustversion::attr(not(stable(1.95)), ignore = "the texts are those of Rust 1.95")]
#[test]
fn wrong_use_is_a_readable_compile_error() {
    let cases = trybuild::TestCases::new();
    // That this one builds makes trybuild build the others, rather than check
    // them: the last two are found out late.
    cases.pass("compile_errors/right_use.rs");
    cases.compile_fail("compile_errors/wrong_*.rs");
    cases.compile_fail("compile_errors/key_as_counter.rs");
    cases.compile_fail("compile_errors/counter_named_twice.rs");
}
