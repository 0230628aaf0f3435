//! Parts that several requests and replies share.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// How much of each thing a list holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Fields)]
pub enum FieldSet {
    /// Everything.
    #[default]
    Full,
    /// What a table shows.
    Summary,
}

/// What a deletion answers.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Deleted)]
pub struct DeletedReply {
    /// Always true.
    pub success: bool,
    /// What is gone.
    pub id: String,
}

impl DeletedReply {
    /// The reply about the thing of this id.
    pub fn of(id: &impl ToString) -> Self {
        Self { success: true, id: id.to_string() }
    }
}

/// A body or an answer without content.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct EmptyBody {}

/// Something with named fields; a list is not taken for them in their order.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct NamedFields<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NamedFields<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct FieldVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for FieldVisitor<T> {
            type Value = NamedFields<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<NamedFields<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(NamedFields)
            }
        }

        reader.deserialize_map(FieldVisitor(PhantomData))
    }
}

/// A page of a list.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// How many items at most; 1,000 without it. Where there are more, the answer has a `Maestro-Next-Cursor`.
    #[param(minimum = 1, maximum = 10_000)]
    pub limit: Option<i64>,
    /// The `Maestro-Next-Cursor` of the previous page.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    pub cursor: Option<i64>,
}

/// Reads an integer in any notation; `5.0` is one.
pub fn whole_number<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<i64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(reader)? else { return Ok(None) };
    let written_long = || number.as_f64().filter(|long| long.fract() == 0.0)?.to_string().parse().ok();
    let whole = number.as_i64().or_else(written_long);
    whole.map(Some).ok_or_else(|| serde::de::Error::custom(format!("`{number}` is not an integer in range")))
}
