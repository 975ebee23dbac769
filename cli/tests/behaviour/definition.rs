//! A definition in a line: `generate triggers count_likes --rows article_likes --count …` stands for a
//! counters.toml.

use super::{Ran, run_with};

/// The keys of a `[[trigger]]`. The key `count` has a list.
const KEYS: [&str; 8] = [
    "rows", "count", "by", "when", "only", "day", "slots", "deleted",
];

/// Other options that have a value.
const OPTIONS: [&str; 2] = ["--existing", "--database-url"];

pub struct Definition {
    name: String,
    keys: Vec<(&'static str, String)>,
    counts: Vec<String>,
    /// The rest of the command line.
    others: Vec<String>,
}

impl Definition {
    /// The definition in the arguments, if they have one.
    pub fn of(args: &[&str]) -> Option<Self> {
        let ["generate", "triggers", args @ ..] = args else {
            return None;
        };
        let mut definition = Definition {
            name: String::new(),
            keys: Vec::new(),
            counts: Vec::new(),
            others: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let key = KEYS
                .into_iter()
                .find(|key| arg.strip_prefix("--") == Some(key));
            match key {
                Some("count") => definition.counts.push((*args.next()?).to_owned()),
                Some(key) => definition.keys.push((key, (*args.next()?).to_owned())),
                None if OPTIONS.contains(arg) => {
                    let value = args.next()?;
                    definition.others.extend([*arg, *value].map(str::to_owned));
                }
                None if arg.starts_with("--") => definition.others.push((*arg).to_owned()),
                None => definition.name = (*arg).to_owned(),
            }
        }
        let has_rows = definition.keys.iter().any(|(key, _)| *key == "rows");
        has_rows.then_some(definition)
    }

    /// Generates the migration from what the database has to that and this definition, in place of the one that has
    /// its name.
    pub fn generate(&self, database_url: Option<&str>) -> Ran {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counters.toml");
        let shown = run_with(&["show"], database_url).stdout;
        let others = shown.split("[[trigger]]\n").skip(1);
        let name = format!("name = {}", quoted(&self.name));
        let others = others.filter(|other| other.lines().next() != Some(&name));
        let others = others.map(|other| format!("[[trigger]]\n{other}\n"));
        std::fs::write(&path, others.collect::<String>() + &self.toml()).unwrap();
        let file = path.display().to_string();
        let mut args = vec!["generate", "triggers", "--file", &file];
        args.extend(self.others.iter().map(|other| &**other));
        run_with(&args, database_url)
    }

    fn toml(&self) -> String {
        let name = [("name", &self.name)].into_iter();
        let keys = name.chain(self.keys.iter().map(|(key, value)| (*key, value)));
        let keys = keys.map(|(key, value)| match key {
            "slots" => format!("{key} = {value}\n"),
            _ => format!("{key} = {}\n", quoted(value)),
        });
        let keys: String = keys.collect();
        let counts: Vec<_> = self.counts.iter().map(|count| quoted(count)).collect();
        format!("[[trigger]]\n{keys}count = [{}]\n", counts.join(", "))
    }
}

/// A string of TOML, whose escapes are those of JSON.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}
