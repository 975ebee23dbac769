#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, u32, i16)| {
    let (text, day, slot) = input;
    fuzz::server_text::check(text);
    fuzz::server_text::check_key(text, day, slot);
});
