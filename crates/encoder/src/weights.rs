//! Weights file of the encoder, read in place.

use std::fmt;

use crate::linear::{ByteMatrix, LONGEST_ROW};

/// What every weights file begins with.
const MAGIC: &[u8; 8] = b"maestenc";

/// The only format there is.
const FORMAT: u32 = 1;

/// The largest number a shape may name. It keeps a damaged file from asking for all memory.
const LARGEST_NUMBER: u32 = 1 << 20;

/// Which weights a vector was made with. Vectors of different models cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModelId([u8; 16]);

impl ModelId {
    /// The id as bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Why bytes are no weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    /// They are something else.
    #[error("not a weights file of format {FORMAT}")]
    UnknownFormat,
    /// They end too early or go on too long.
    #[error("the weights file is not complete")]
    Incomplete,
    /// The sizes do not fit each other.
    #[error("the weights file has sizes that do not fit each other")]
    InvalidShape,
}

/// The sizes of a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelShape {
    pub(crate) pieces: usize,
    pub(crate) embedding: usize,
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    pub(crate) inner: usize,
    pub(crate) positions: usize,
    pub(crate) output: usize,
    pub(crate) heads: usize,
    /// How many tokens of a task are read, and of a card.
    pub(crate) task_tokens: usize,
    pub(crate) card_tokens: usize,
}

impl ModelShape {
    fn is_valid(&self) -> bool {
        let widths = [self.embedding, self.hidden, self.inner];
        let tokens = [self.task_tokens, self.card_tokens];
        widths.iter().all(|width| (1..=LONGEST_ROW).contains(width))
            && tokens.iter().all(|tokens| (2..=self.positions).contains(tokens))
            && self.heads > 0
            && self.hidden.is_multiple_of(self.heads)
            && self.pieces > 0
            && self.output > 0
    }
}

/// The word pieces, sorted; a piece's number is its place.
#[derive(Debug, Clone)]
pub(crate) struct PieceTable<'w> {
    text: &'w [u8],
    /// Where each piece begins, and where the last one ends.
    starts: Vec<u32>,
    pub(crate) start_token: usize,
    pub(crate) end_token: usize,
    pub(crate) unknown_token: usize,
    /// How long the longest piece is, in bytes.
    pub(crate) longest: usize,
}

impl PieceTable<'_> {
    /// The number of a piece.
    pub(crate) fn find(&self, piece: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.starts.len().saturating_sub(1));
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.piece(middle)?.cmp(piece) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn piece(&self, number: usize) -> Option<&[u8]> {
        let at = |number: usize| self.starts.get(number).and_then(|&start| usize::try_from(start).ok());
        self.text.get(at(number)?..at(number + 1)?)
    }
}

/// Scale and shift of a normalization.
#[derive(Debug, Clone)]
pub(crate) struct NormWeights {
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

/// A matrix and what is added to its product.
#[derive(Debug, Clone)]
pub(crate) struct LinearWeights<'w> {
    pub(crate) matrix: ByteMatrix<'w>,
    pub(crate) bias: Vec<f32>,
}

/// One layer.
#[derive(Debug, Clone)]
pub(crate) struct LayerWeights<'w> {
    pub(crate) attention_in: LinearWeights<'w>,
    pub(crate) attention_out: LinearWeights<'w>,
    pub(crate) attention_norm: NormWeights,
    pub(crate) inner_in: LinearWeights<'w>,
    pub(crate) inner_out: LinearWeights<'w>,
    pub(crate) inner_norm: NormWeights,
}

/// Everything in a weights file.
#[derive(Debug, Clone)]
pub(crate) struct ModelWeights<'w> {
    pub(crate) id: ModelId,
    pub(crate) shape: ModelShape,
    pub(crate) pieces: PieceTable<'w>,
    pub(crate) tokens: ByteMatrix<'w>,
    /// From the width of the token table to that of the layers, where these differ.
    pub(crate) widen: Option<ByteMatrix<'w>>,
    pub(crate) positions: Vec<f32>,
    pub(crate) norm: NormWeights,
    pub(crate) layers: Vec<LayerWeights<'w>>,
    pub(crate) output: ByteMatrix<'w>,
}

impl<'w> ModelWeights<'w> {
    pub(crate) fn parse(bytes: &'w [u8]) -> Result<Self, WeightsError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(WeightsError::UnknownFormat)?;
        let mut reader = WeightsReader { rest };
        if reader.number()? != FORMAT {
            return Err(WeightsError::UnknownFormat);
        }
        let id = ModelId(*reader.array()?);
        let shape = reader.shape()?;
        if !shape.is_valid() {
            return Err(WeightsError::InvalidShape);
        }
        let pieces = reader.pieces(shape.pieces)?;
        let tokens = reader.matrix(shape.pieces, shape.embedding)?;
        let widen = (shape.embedding != shape.hidden).then(|| reader.matrix(shape.hidden, shape.embedding));
        let weights = Self {
            id,
            shape,
            pieces,
            tokens,
            widen: widen.transpose()?,
            positions: reader.floats(shape.positions * shape.hidden)?,
            norm: reader.norm(shape.hidden)?,
            layers: (0..shape.layers).map(|_| reader.layer(&shape)).collect::<Result<_, _>>()?,
            output: reader.matrix(shape.output, shape.hidden)?,
        };
        if reader.rest.is_empty() { Ok(weights) } else { Err(WeightsError::Incomplete) }
    }
}

/// The part of a weights file that was not read yet.
struct WeightsReader<'w> {
    rest: &'w [u8],
}

impl<'w> WeightsReader<'w> {
    fn bytes(&mut self, count: usize) -> Result<&'w [u8], WeightsError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(WeightsError::Incomplete)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<&'w [u8; N], WeightsError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(WeightsError::Incomplete)?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, WeightsError> {
        Ok(u32::from_le_bytes(*self.array()?))
    }

    fn size(&mut self) -> Result<usize, WeightsError> {
        let number = self.number()?;
        if number > LARGEST_NUMBER {
            return Err(WeightsError::InvalidShape);
        }
        usize::try_from(number).map_err(|_| WeightsError::InvalidShape)
    }

    fn floats(&mut self, count: usize) -> Result<Vec<f32>, WeightsError> {
        let (floats, _) = self.bytes(count * size_of::<f32>())?.as_chunks();
        Ok(floats.iter().map(|&float| f32::from_le_bytes(float)).collect())
    }

    fn shape(&mut self) -> Result<ModelShape, WeightsError> {
        Ok(ModelShape {
            pieces: self.size()?,
            embedding: self.size()?,
            hidden: self.size()?,
            layers: self.size()?,
            inner: self.size()?,
            positions: self.size()?,
            output: self.size()?,
            heads: self.size()?,
            task_tokens: self.size()?,
            card_tokens: self.size()?,
        })
    }

    fn pieces(&mut self, count: usize) -> Result<PieceTable<'w>, WeightsError> {
        let [start_token, end_token, unknown_token] = [self.size()?, self.size()?, self.size()?];
        if [start_token, end_token, unknown_token].iter().any(|token| *token >= count) {
            return Err(WeightsError::InvalidShape);
        }
        let lengths = self.bytes(count)?;
        let mut starts = vec![0_u32];
        let mut end = 0;
        for &length in lengths {
            end += u32::from(length);
            starts.push(end);
        }
        let text = self.bytes(usize::try_from(end).map_err(|_| WeightsError::InvalidShape)?)?;
        let longest = lengths.iter().copied().max().unwrap_or_default().into();
        Ok(PieceTable { text, starts, start_token, end_token, unknown_token, longest })
    }

    fn matrix(&mut self, height: usize, width: usize) -> Result<ByteMatrix<'w>, WeightsError> {
        let weights = self.bytes(height * width)?;
        Ok(ByteMatrix { weights, scales: self.floats(height)?, width })
    }

    fn linear(&mut self, height: usize, width: usize) -> Result<LinearWeights<'w>, WeightsError> {
        Ok(LinearWeights { matrix: self.matrix(height, width)?, bias: self.floats(height)? })
    }

    fn norm(&mut self, width: usize) -> Result<NormWeights, WeightsError> {
        Ok(NormWeights { weight: self.floats(width)?, bias: self.floats(width)? })
    }

    fn layer(&mut self, shape: &ModelShape) -> Result<LayerWeights<'w>, WeightsError> {
        let (hidden, inner) = (shape.hidden, shape.inner);
        Ok(LayerWeights {
            attention_in: self.linear(3 * hidden, hidden)?,
            attention_out: self.linear(hidden, hidden)?,
            attention_norm: self.norm(hidden)?,
            inner_in: self.linear(inner, hidden)?,
            inner_out: self.linear(hidden, inner)?,
            inner_norm: self.norm(hidden)?,
        })
    }
}
