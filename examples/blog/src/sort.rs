//! The orders of the list of articles, and their labels.

/// The order of the list of articles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Newest,
    MostRead,
    MostReadThisWeek,
}

impl Sort {
    pub const ALL: [Sort; 3] = [Sort::Newest, Sort::MostRead, Sort::MostReadThisWeek];

    /// Its name in a URL.
    pub fn name(self) -> &'static str {
        match self {
            Sort::Newest => "newest",
            Sort::MostRead => "most-read",
            Sort::MostReadThisWeek => "most-read-this-week",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Sort::ALL.into_iter().find(|sort| sort.name() == name)
    }

    /// The text of the link that selects it.
    pub fn label(self) -> &'static str {
        match self {
            Sort::Newest => "Newest",
            Sort::MostRead => "Most read",
            Sort::MostReadThisWeek => "Most read this week",
        }
    }

    /// The label of the column of views.
    pub fn views(self) -> &'static str {
        match self {
            Sort::Newest | Sort::MostRead => "Views",
            Sort::MostReadThisWeek => "Views this week",
        }
    }

    /// The texts of the links to the previous page and the next page.
    pub fn before_and_after(self) -> (&'static str, &'static str) {
        match self {
            Sort::Newest => ("Newer", "Older"),
            Sort::MostRead | Sort::MostReadThisWeek => ("Previous", "Next"),
        }
    }
}
