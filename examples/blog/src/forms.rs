//! Forms, with a message at the field that is wrong.

use serde::Deserialize;
use unicode_properties::{GeneralCategoryGroup as Group, UnicodeGeneralCategory};

/// A field of a form: what was typed, and what is wrong with it.
#[derive(Default, Deserialize)]
#[serde(from = "String")]
pub struct Field {
    pub text: String,
    pub wrong: String,
}

impl From<String> for Field {
    fn from(typed: String) -> Self {
        // A browser sends a line end as two characters, but `maxlength` counts it as one.
        let text = typed.replace("\r\n", "\n").trim().to_owned();
        let wrong = String::new();
        Field { text, wrong }
    }
}

impl Field {
    /// Checks the text, and returns whether it is right.
    pub fn check(&mut self, longest: usize, lines: bool) -> bool {
        let control = |c: char| c.is_control() && !(lines && matches!(c, '\n' | '\t'));
        self.wrong = if self.text.chars().all(is_invisible) {
            "Write something here.".to_owned()
        } else if self.text.chars().count() > longest {
            format!("This is longer than {longest} characters.")
        } else if self.text.contains(control) {
            "This has characters that cannot be shown.".to_owned()
        } else {
            String::new()
        };
        self.wrong.is_empty()
    }
}

fn is_invisible(c: char) -> bool {
    // The fillers of Hangul count as letters, and the blank of Braille as a symbol.
    let blank = "\u{115f}\u{1160}\u{3164}\u{ffa0}\u{2800}".contains(c);
    let group = c.general_category_group();
    blank || matches!(group, Group::Mark | Group::Other | Group::Separator)
}

#[derive(Default, Deserialize)]
pub struct ArticleForm {
    pub title: Field,
    pub body: Field,
}

impl ArticleForm {
    pub fn check(&mut self) -> bool {
        let body = self.body.check(20_000, true);
        let title = self.title.check(200, false);
        if title && crate::article::slug(&self.title.text).is_empty() {
            self.title.wrong = "A title needs a letter or a digit.".to_owned();
        }
        body && self.title.wrong.is_empty()
    }
}

#[derive(Default, Deserialize)]
pub struct CommentForm {
    #[serde(default)]
    pub author: Field,
    pub body: Field,
}

impl CommentForm {
    pub fn check(&mut self) -> bool {
        let body = self.body.check(4_000, true);
        (self.author.text.is_empty() || self.author.check(80, false)) && body
    }
}
