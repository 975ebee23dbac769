//! What the compiler says of wrong use.

use std::env;

// The words around ours are the compiler's, and change with it.
#[rustversion::attr(not(stable(1.95)), ignore = "the texts are those of Rust 1.95")]
#[test]
fn wrong_use_is_a_readable_compile_error() {
    build_dependencies_once();
    let cases = trybuild::TestCases::new();
    // That this one builds makes trybuild build the others, rather than check
    // them: the last one's errors are found when code is generated.
    cases.pass("compile_errors/right_use.rs");
    cases.compile_fail("compile_errors/wrong_*.rs");
    cases.compile_fail("compile_errors/found_in_generated_code.rs");
}

/// Has trybuild build the dependencies with the flags that it builds the cases
/// with. Its own are one flag short, so that Cargo would build everything twice.
fn build_dependencies_once() {
    let flags = "--cfg trybuild --verbose -A dead_code --diagnostic-width=140";
    // SAFETY: the other test of its process calls no C code, which could read them.
    unsafe {
        env::set_var("CARGO_ENCODED_RUSTFLAGS", flags.replace(' ', "\x1f"));
        // Nobody debugs what is built here.
        env::set_var("CARGO_PROFILE_DEV_DEBUG", "0");
    }
}
