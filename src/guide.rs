#![doc = include_str!("../docs/links.md")]
#![doc = include_str!("../docs/README.md")]

// The chapters link to each other and to the API by labels. The first definition of a label counts:
// on docs.rs that of `links.md`, and in the repository that at the end of the chapter.
macro_rules! chapters {
    ($($(#[$attribute:meta])? $path:literal $name:ident)*) => {$(
        $(#[$attribute])?
        #[doc = include_str!("../docs/links.md")]
        #[doc = include_str!($path)]
        pub mod $name {}
    )*};
}

chapters! {
    "../docs/start.md" start
    "../docs/counting.md" counting
    "../docs/reading.md" reading
    "../docs/triggers.md" triggers
    "../docs/recipes.md" recipes
    "../docs/operations.md" operations
    "../docs/nodes.md" nodes
    // `examples/async` runs its examples.
    #[cfg(not(doctest))] "../docs/pools.md" pools
    "../docs/testing.md" testing
    "../docs/coming-from.md" coming_from
    "../docs/troubleshooting.md" troubleshooting
    "../docs/trust.md" trust
    "../docs/stability.md" stability
}
