//! What a trigger does with the row that is written, as far as its words tell.

use sqlparser::tokenizer::{Token, Tokenizer};

use crate::database::Database;

/// A trigger of a table. Those of a definition that counts in its own table are left out.
pub struct OtherTrigger {
    pub name: String,
    /// When it runs, such as `BEFORE ROW INSERT UPDATE`.
    pub event: String,
    /// Of `UPDATE OF`. None for all.
    pub columns: Vec<String>,
    /// The words and the signs of its statements, in lower case.
    pub body: Vec<String>,
}

/// What a body does is told by its words. That is a guess: whether a statement runs at all is not
/// looked at, and neither are the functions and procedures that it calls, nor the SQL that it puts
/// together.
impl OtherTrigger {
    fn has(&self, words: &[&str]) -> bool {
        self.body.windows(words.len()).any(|some| some == words)
    }

    /// Whether a function of PostgreSQL can skip an update, or return another row.
    pub fn skips(&self) -> bool {
        // `new = old` is an assignment at the beginning of a statement, and else a comparison.
        let mut before = [";", "begin", "then", "else"].into_iter();
        let keeps_old = self.has(&["new", ":=", "old"])
            || before.any(|before| self.has(&[before, "new", "=", "old"]));
        let reads_row = self.read_into().iter().any(|name| name == "new");
        keeps_old || reads_row || self.returned().into_iter().any(|value| self.is_skip(value))
    }

    /// The expressions of its RETURNs.
    fn returned(&self) -> Vec<&[String]> {
        let mut all = Vec::new();
        for (place, word) in self.body.iter().enumerate() {
            if word == "return" {
                let rest = &self.body[place + 1..];
                let end = rest.iter().position(|word| word == ";");
                all.push(&rest[..end.unwrap_or(rest.len())]);
            }
        }
        all
    }

    /// Whether a function that returns this skips the row, or keeps the old one.
    fn is_skip(&self, value: &[String]) -> bool {
        let returns = |wanted: &str| {
            (0..value.len()).any(|place| {
                let is_whole = value.get(place + 1).is_none_or(|word| word != ".");
                let before = value[..place].last().map(String::as_str);
                let is_branch = match value[0].as_str() {
                    "case" => before.is_some_and(|word| ["then", "else"].contains(&word)),
                    _ => value[..place].iter().all(|word| word == "("),
                };
                value[place] == wanted && is_whole && is_branch
            })
        };
        // A function for deletions, too, returns OLD for these.
        let is_of_deletions = self.event.contains("DELETE");
        let is_variable = matches!(value, [only] if !["new", "old", "null"].contains(&&**only));
        let has_old = self.has(&[":=", "old", ";"])
            || self.has(&["=", "old", ";"])
            || self.has(&["old", ".", "*", "into"]);
        returns("null") || !is_of_deletions && (returns("old") || is_variable && has_old)
    }

    /// The variables of its INTOs, such as `new.likes`.
    fn read_into(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (place, word) in self.body.iter().enumerate() {
            if word != "into" {
                continue;
            }
            let behind = self.body[place + 1..].iter();
            let rest = behind.filter(|word| *word != "strict");
            // Names and points, up to the first word behind a name.
            let mut name = String::new();
            let mut is_complete = false;
            for word in rest {
                match &**word {
                    "," if is_complete => all.push(std::mem::take(&mut name)),
                    "." => name.push('.'),
                    _ if is_complete => break,
                    word => name += word,
                }
                is_complete = ![",", "."].contains(&&**word);
            }
            all.push(name);
        }
        all
    }

    /// Whether a trigger of SQLite can skip the row.
    pub fn ignores(&self) -> bool {
        self.has(&["raise", "(", "ignore"])
    }

    /// Whether it can set a column of the row that is written.
    pub fn sets(&self, name: &str) -> bool {
        const BEFORE: [&str; 7] = ["set", "begin", "then", "else", "loop", "do", ";"];
        let wanted = name.to_lowercase();
        let reads = self.read_into().contains(&format!("new.{wanted}"));
        // A procedure can set what it is called with.
        let passes = self.has(&["call"]) && self.has(&["new", ".", &wanted]);
        let assigns = self.body.windows(5).any(|some| {
            let [before, new, dot, column, after] = some else {
                return false;
            };
            let is_column = [new, dot, column] == ["new", ".", &wanted];
            // As in `SET NEW.a = 1, NEW.b = 2`.
            let is_next = before == "," && [":=", "="].contains(&&**after);
            is_column && (is_next || BEFORE.contains(&&**before))
        });
        assigns || reads || passes
    }

    /// Whether a statement of it changes the table.
    pub fn writes(&self, table: &str) -> bool {
        self.names(
            table,
            &[
                &["update"],
                &["update", "only"],
                &["update", "or", "abort"],
                &["update", "or", "fail"],
                &["update", "or", "ignore"],
                &["update", "or", "replace"],
                &["update", "or", "rollback"],
                &["delete", "from"],
                &["into"],
            ],
        )
    }

    /// Whether a statement of SQLite puts other rows in place of those of the table.
    pub fn replaces(&self, table: &str) -> bool {
        self.names(table, &[&["replace", "into"]])
    }

    /// Whether the table stands behind one of these.
    fn names(&self, table: &str, verbs: &[&[&str]]) -> bool {
        let wanted = table.to_lowercase();
        let begins_with_table = |words: &[String]| match words {
            [schema, dot, name, ..] if dot == "." => !schema.is_empty() && *name == wanted,
            [name, ..] => *name == wanted,
            [] => false,
        };
        (0..self.body.len()).any(|place| {
            let rest = &self.body[place..];
            verbs.iter().any(|verb| {
                rest.len() > verb.len()
                    && rest[..verb.len()] == **verb
                    && begins_with_table(&rest[verb.len()..])
            })
        })
    }

    /// Whether an `UPDATE` of it sets a column.
    pub fn updates(&self, name: &str) -> bool {
        let wanted = name.to_lowercase();
        let is_end = |word: &String| word == ")";
        // As in `SET (a, b) = (1, 2)`.
        let is_in_list = self.body.windows(2).enumerate().any(|(place, some)| {
            let rest = &self.body[place + 2..];
            let list = rest.split(is_end).next().unwrap_or_default();
            let after = rest.get(list.len() + 1);
            let is_list = some[1] == "(" && ["set", ","].contains(&&*some[0]);
            is_list && list.contains(&wanted) && after.is_some_and(|word| word == "=")
        });
        is_in_list || self.has(&["set", &wanted, "="]) || self.has(&[",", &wanted, "="])
    }
}

/// The words and the signs of SQL, in lower case and without comments and quotes.
pub fn words(body: &str, database: Database) -> Vec<String> {
    let Ok(tokens) = Tokenizer::new(database.grammar(), body).tokenize() else {
        return plain_words(body);
    };
    let word = |token| match token {
        // Comments are whitespace, too.
        Token::Whitespace(_) => None,
        Token::Word(word) => Some(word.value.to_lowercase()),
        sign => Some(sign.to_string().to_lowercase()),
    };
    tokens.into_iter().filter_map(word).collect()
}

/// Those of a text that the tokenizer cannot read.
fn plain_words(body: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_in_word = false;
    for c in body.to_lowercase().chars() {
        let is_of_word = c.is_alphanumeric() || c == '_';
        match words.last_mut() {
            Some(word) if is_in_word && is_of_word => word.push(c),
            _ if c.is_whitespace() => {}
            _ => words.push(c.to_string()),
        }
        is_in_word = is_of_word;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::{MYSQL, POSTGRES, SQLITE};

    fn trigger(event: &str, body: &str, database: Database) -> OtherTrigger {
        OtherTrigger {
            name: "own".to_owned(),
            event: event.to_owned(),
            columns: Vec::new(),
            body: words(body, database),
        }
    }

    #[test]
    fn a_function_skips_a_row_or_keeps_the_old_one() {
        let skips = |event, body| trigger(event, body, POSTGRES).skips();
        for body in [
            "BEGIN RETURN NULL; END",
            "BEGIN RETURN OLD; END",
            "BEGIN NEW := OLD; RETURN NEW; END",
            "BEGIN NEW = OLD; RETURN NEW; END",
            "BEGIN RETURN NULL::articles; END",
            "BEGIN RETURN (OLD); END",
            "BEGIN RETURN CASE WHEN NEW.a > 0 THEN NULL ELSE NEW END; END",
            "BEGIN SELECT OLD.* INTO STRICT NEW; RETURN NEW; END",
            "DECLARE r a := OLD; BEGIN RETURN r; END",
        ] {
            assert!(skips("BEFORE ROW UPDATE", body), "{body}");
        }
        for body in [
            "BEGIN IF NEW = OLD THEN x := 1; END IF; RETURN NEW; END",
            "BEGIN -- RETURN NULL\n RETURN NEW; END",
            "BEGIN RETURN COALESCE(NEW, OLD); END",
            "BEGIN RETURN CASE WHEN OLD.a IS NULL THEN NEW ELSE f(NEW, OLD.a) END; END",
            "DECLARE r a := NEW; BEGIN RETURN r; END",
        ] {
            assert!(!skips("BEFORE ROW UPDATE", body), "{body}");
        }
        assert!(!skips("BEFORE ROW DELETE UPDATE", "BEGIN RETURN OLD; END"));
    }

    #[test]
    fn a_trigger_sets_a_column_of_its_row() {
        let sets = |body| trigger("BEFORE ROW UPDATE", body, MYSQL).sets("Likes");
        for body in [
            "SET NEW.likes = 1",
            "SET NEW.a = 1, NEW.`likes` = 2",
            "BEGIN SELECT 1 INTO NEW.likes; END",
            "BEGIN FETCH c INTO a, NEW.id, NEW.likes; END",
            "CALL f(NEW.likes)",
        ] {
            assert!(sets(body), "{body}");
        }
        for body in [
            "SET @a = NEW.likes",
            "SET NEW.a = f(1, NEW.likes)",
            "UPDATE t SET likes = 1",
        ] {
            assert!(!sets(body), "{body}");
        }
    }

    #[test]
    fn a_statement_writes_a_table() {
        let writes = |body| trigger("AFTER ROW INSERT", body, SQLITE).writes("Articles");
        for body in [
            "UPDATE articles SET likes = 1",
            "INSERT OR IGNORE INTO main.\"articles\" VALUES (1)",
            "DELETE FROM articles",
            "UPDATE OR IGNORE articles SET likes = 1",
        ] {
            assert!(writes(body), "{body}");
        }
        for body in [
            "SELECT * FROM articles",
            "UPDATE notes SET articles = 1",
            "UPDATE",
        ] {
            assert!(!writes(body), "{body}");
        }
    }
}
