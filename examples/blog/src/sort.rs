//! The orders of the list, and what the page calls them.

/// What the list of articles is sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Newest,
    MostRead,
    MostReadThisWeek,
}

impl Sort {
    pub const ALL: [Sort; 3] = [Sort::Newest, Sort::MostRead, Sort::MostReadThisWeek];

    /// Its name in an address.
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

    /// The text of the link to it.
    pub fn label(self) -> &'static str {
        match self {
            Sort::Newest => "Newest",
            Sort::MostRead => "Most read",
            Sort::MostReadThisWeek => "Most read this week",
        }
    }

    /// What the views in its list are: those that it sorts by.
    pub fn views(self) -> &'static str {
        match self {
            Sort::Newest | Sort::MostRead => "Views",
            Sort::MostReadThisWeek => "Views this week",
        }
    }

    /// The text of the links to the page before and the page after.
    pub fn before_and_after(self) -> (&'static str, &'static str) {
        match self {
            Sort::Newest => ("Newer", "Older"),
            Sort::MostRead | Sort::MostReadThisWeek => ("Previous", "Next"),
        }
    }
}
