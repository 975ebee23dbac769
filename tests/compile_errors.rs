//! What the compiler says of wrong use.

#[test]
fn wrong_use_is_a_readable_compile_error() {
    trybuild::TestCases::new().compile_fail("compile_errors/*.rs");
}
