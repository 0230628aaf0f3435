//! Enums whose variants are words: one declaration gives the words, their list, and the way back from a word.

/// Declares an enum with a word for each variant: `ALL`, `as_str`, `from_word` and `Display`.
#[macro_export]
macro_rules! word_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl $name {
            /// Every one of them, in the order in which they are shown.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word for it, as it is written, stored and shown.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// What the word stands for.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.as_str() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// Declares an enum of words with one sentence on each, so that the three never drift apart. Reference pages are made from it.
macro_rules! described_words {
    ($(#[$meta:meta])* pub enum $name:ident { $($variant:ident = $word:literal, $meaning:literal;)+ }) => {
        $crate::word_enum! {
            $(#[$meta])*
            #[derive(PartialOrd, Ord, Hash)]
            pub enum $name { $(#[doc = $meaning] $variant = $word,)+ }
        }

        impl $name {
            /// One sentence on what it means.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }
    };
}

/// Parses a word of an enum however it is spelled (`needs-input`, `NEEDS_INPUT`), and other words for the same.
macro_rules! word_parser {
    ($name:ident $(, $alias:literal => $same:ident)*) => {
        impl std::str::FromStr for $name {
            type Err = $crate::closest_word::UnknownWord;

            fn from_str(text: &str) -> Result<Self, $crate::closest_word::UnknownWord> {
                let word = text.to_ascii_lowercase().replace('-', "_");
                let alias = match word.as_str() { $($alias => Some(Self::$same),)* _ => None };
                let known = || Self::ALL.into_iter().find(|known| known.as_str().replace('-', "_") == word);
                alias.or_else(known).ok_or_else(|| $crate::closest_word::UnknownWord { known: Self::ALL.map(Self::as_str).to_vec() })
            }
        }
    };
}

/// Declares enums of words that are sent and parsed.
macro_rules! words {
    ($($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ } $(also { $($alias:literal => $same:ident,)+ })?)+) => {$(
        $crate::word_enum! {
            $(#[$meta])*
            #[derive(PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
            pub enum $name { $($(#[$variant_meta])* #[serde(rename = $word)] $variant = $word,)+ }
        }

        $crate::word_enum::word_parser!($name $($(, $alias => $same)+)?);
    )+};
}

pub(crate) use {described_words, word_parser, words};
