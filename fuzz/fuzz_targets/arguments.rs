#![no_main]

use std::cell::RefCell;

use fuzz::arguments::Arguments;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
enum Input<'a> {
    Any(Vec<&'a str>),
    Url(&'a str),
    Definition {
        name: &'a str,
        rows: &'a str,
        counts: Vec<&'a str>,
        by: Option<&'a str>,
        when: Option<&'a str>,
        day: Option<&'a str>,
        period: Option<u8>,
        slots: Option<u16>,
    },
}

const PERIODS: [&str; 5] = ["day", "week", "month", "year", "total"];

thread_local! {
    static ARGUMENTS: RefCell<Arguments> = RefCell::new(Arguments::new());
}

fuzz_target!(|input: Input| {
    ARGUMENTS.with_borrow_mut(|arguments| match input {
        Input::Any(any) => arguments.check_any(&any),
        Input::Url(url) => arguments.check_url(url),
        Input::Definition {
            name,
            rows,
            counts,
            by,
            when,
            day,
            period,
            slots,
        } => {
            let mut all = vec![format!("--rows={rows}")];
            all.extend(counts.iter().map(|count| format!("--count={count}")));
            all.extend(by.map(|by| format!("--by={by}")));
            all.extend(when.map(|when| format!("--when={when}")));
            all.extend(day.map(|day| format!("--day={day}")));
            all.extend(period.map(|i| format!("--period={}", PERIODS[usize::from(i) % 5])));
            all.extend(slots.map(|slots| format!("--slots={slots}")));
            all.extend(["--".to_owned(), name.to_owned()]);
            arguments.check_definition(&all);
        }
    });
});
