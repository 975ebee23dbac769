#![no_main]

use fuzz::arguments::Arguments;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
enum Input<'a> {
    Any(Vec<&'a str>),
    Url(&'a str),
    File(&'a str),
    Definition {
        name: &'a str,
        rows: &'a str,
        counts: Vec<&'a str>,
        by: Option<&'a str>,
        when: Option<&'a str>,
        day: Option<&'a str>,
        slots: Option<u16>,
    },
}

fuzz_target!(|input: Input| {
    match input {
        Input::Any(any) => Arguments.check_any(&any),
        Input::Url(url) => Arguments.check_url(url),
        Input::File(text) => Arguments.check_file(text),
        Input::Definition {
            name,
            rows,
            counts,
            by,
            when,
            day,
            slots,
        } => {
            let mut keys = serde_json::json!({ "name": name, "rows": rows, "count": counts });
            for (key, value) in [("by", by), ("when", when), ("day", day)] {
                if let Some(value) = value {
                    keys[key] = value.into();
                }
            }
            if let Some(slots) = slots {
                keys["slots"] = slots.into();
            }
            Arguments.check_definition(&keys);
        }
    }
});
