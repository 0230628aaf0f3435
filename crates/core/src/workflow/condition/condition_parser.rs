//! Parser of conditions.

use super::{ArithmeticOp, CompareOp, Condition, InvalidCondition, Literal, Operand};
use crate::workflow::name::{Name, is_name_char};
use crate::workflow::template::{ByteOffset, ValueReference};

/// How long a condition may be.
const MAX_LEN: usize = 2000;
/// How deep parentheses and `not` may nest.
const MAX_DEPTH: usize = 32;
/// How many arithmetic signs a condition may have.
const MAX_OPERATIONS: usize = 64;

pub(super) fn parse_condition(text: &str) -> Result<Condition, InvalidCondition> {
    if text.len() > MAX_LEN {
        return Err(InvalidCondition { at: 0, reason: format!("a condition has at most {MAX_LEN} bytes") });
    }
    let mut parser = ConditionParser { text, at: 0, depth: 0, operations: 0 };
    let condition = parser.or()?;
    parser.space();
    if parser.at < text.len() { Err(parser.expected("`and`, `or` or the end")) } else { Ok(condition) }
}

struct ConditionParser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    operations: usize,
}

impl<'a> ConditionParser<'a> {
    fn or(&mut self) -> Result<Condition, InvalidCondition> {
        let mut left = self.and()?;
        while self.word("or") {
            left = Condition::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Condition, InvalidCondition> {
        let mut left = self.not()?;
        while self.word("and") {
            left = Condition::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Condition, InvalidCondition> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(InvalidCondition { at: self.at, reason: "the condition is nested too deep".into() });
        }
        let found = if self.word("not") {
            Condition::Not(Box::new(self.not()?))
        } else if self.sign("(") {
            let inner = self.or()?;
            if !self.sign(")") {
                return Err(self.expected("`)`"));
            }
            inner
        } else {
            self.relation()?
        };
        self.depth -= 1;
        Ok(found)
    }

    fn relation(&mut self) -> Result<Condition, InvalidCondition> {
        let left = self.operand()?;
        if self.word("in") {
            return Ok(Condition::In(left, self.operand()?));
        }
        if self.word("not") {
            if !self.word("in") {
                return Err(self.expected("`in` after `not`"));
            }
            return Ok(Condition::Not(Box::new(Condition::In(left, self.operand()?))));
        }
        if self.word("is") {
            let not = self.word("not");
            if !self.word("empty") {
                return Err(self.expected("`empty` after `is`"));
            }
            let empty = Condition::Empty(left);
            return Ok(if not { Condition::Not(Box::new(empty)) } else { empty });
        }
        match self.compared() {
            Some(relation) => Ok(Condition::Compare(left, relation, self.operand()?)),
            None => Ok(Condition::Truth(left)),
        }
    }

    fn compared(&mut self) -> Option<CompareOp> {
        // Longer signs first, so that `<=` is not read as `<`.
        let signs = [
            ("==", CompareOp::Equal),
            ("!=", CompareOp::Unequal),
            ("<=", CompareOp::AtMost),
            (">=", CompareOp::AtLeast),
            ("<", CompareOp::Less),
            (">", CompareOp::Greater),
        ];
        signs.into_iter().find(|(sign, _)| self.sign(sign)).map(|(_, relation)| relation)
    }

    /// A sum of products.
    fn operand(&mut self) -> Result<Operand, InvalidCondition> {
        let mut left = self.product()?;
        while let Some(op) = self.arithmetic(&[ArithmeticOp::Add, ArithmeticOp::Subtract])? {
            left = Operand::Arithmetic(Box::new(left), op, Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Operand, InvalidCondition> {
        let mut left = self.atom()?;
        let signs = [ArithmeticOp::Multiply, ArithmeticOp::Divide, ArithmeticOp::Remainder];
        while let Some(op) = self.arithmetic(&signs)? {
            left = Operand::Arithmetic(Box::new(left), op, Box::new(self.atom()?));
        }
        Ok(left)
    }

    /// The sign of an operation; how many there may be is limited, since each nests the ones before.
    fn arithmetic(&mut self, signs: &[ArithmeticOp]) -> Result<Option<ArithmeticOp>, InvalidCondition> {
        let found = signs.iter().copied().find(|op| self.sign(op.sign()));
        self.operations += usize::from(found.is_some());
        if self.operations > MAX_OPERATIONS {
            return Err(InvalidCondition { at: self.at, reason: "the condition has too much arithmetic".into() });
        }
        Ok(found)
    }

    fn atom(&mut self) -> Result<Operand, InvalidCondition> {
        self.space();
        let at = ByteOffset(self.at);
        if self.sign("[") {
            return self.list(at);
        }
        if self.word("length") {
            if !self.sign("(") {
                return Err(self.expected("`(` after `length`"));
            }
            let of = self.named()?;
            return self.closed(Operand::Length(Box::new(of), at));
        }
        for (function, index) in [("first", 0), ("last", -1)] {
            if self.function(function) {
                let of = self.named()?;
                let item = self.closed(Operand::Item(Box::new(of), index, at))?;
                return self.fields(item);
            }
        }
        if self.function("count") {
            return self.count(at);
        }
        if self.peek().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && !self.at_word("true")
            && !self.at_word("false")
        {
            let found = self.named()?;
            if self.rest().starts_with('(') && matches!(found, Operand::Value(..)) {
                let name = &self.text[at.0..self.at];
                let reason = format!("`{name}` is no function; there are `length`, `count`, `first` and `last`");
                return Err(InvalidCondition { at: at.0, reason });
            }
            return Ok(found);
        }
        Ok(Operand::Literal(self.literal()?, at))
    }

    /// A name, or an item of what it holds.
    fn named(&mut self) -> Result<Operand, InvalidCondition> {
        let mut found = self.name()?;
        // Brackets belong to a name only right behind it; `x in [1]` has a list.
        while self.rest().starts_with('[') {
            let at = ByteOffset(found.at());
            self.at += 1;
            self.space();
            if !self.peek().is_some_and(|c| c.is_ascii_digit() || c == '-') {
                return Err(self.expected("a number"));
            }
            let Literal::Int(index) = self.number()? else { return Err(self.expected("a number")) };
            if !self.sign("]") {
                return Err(self.expected("`]`"));
            }
            found = self.fields(Operand::Item(Box::new(found), index, at))?;
        }
        Ok(found)
    }

    /// The fields that follow an item.
    fn fields(&mut self, mut of: Operand) -> Result<Operand, InvalidCondition> {
        while self.rest().starts_with('.') {
            self.at += 1;
            let at = ByteOffset(of.at());
            of = Operand::Field(Box::new(of), self.field()?, at);
        }
        Ok(of)
    }

    fn field(&mut self) -> Result<Name, InvalidCondition> {
        self.space();
        let end = self.rest().find(|c: char| !is_name_char(c)).unwrap_or(self.rest().len());
        let name = Name::parse(&self.rest()[..end]).map_err(|_| self.expected("the name of a field"))?;
        self.at += end;
        Ok(name)
    }

    /// `LIST, FIELD, VALUE)`: how many items have that value.
    fn count(&mut self, at: ByteOffset) -> Result<Operand, InvalidCondition> {
        let of = self.named()?;
        if !self.sign(",") {
            return Err(self.expected("`,` and the name of a field"));
        }
        let field = self.field()?;
        if !self.sign(",") {
            return Err(self.expected("`,` and a value"));
        }
        let wanted = self.literal()?;
        self.closed(Operand::Count(Box::new(of), field, wanted, at))
    }

    fn closed(&mut self, operand: Operand) -> Result<Operand, InvalidCondition> {
        if self.sign(")") { Ok(operand) } else { Err(self.expected("`)`")) }
    }

    /// Whether a function is called here; a variable may have the same name.
    fn function(&mut self, name: &str) -> bool {
        self.space();
        let rest = self.rest().strip_prefix(name).map(str::trim_start);
        let Some(rest) = rest.and_then(|rest| rest.strip_prefix('(')) else { return false };
        self.at = self.text.len() - rest.len();
        true
    }

    fn list(&mut self, at: ByteOffset) -> Result<Operand, InvalidCondition> {
        let mut items = Vec::new();
        if self.sign("]") {
            return Ok(Operand::List(items, at));
        }
        loop {
            self.space();
            let at_item = ByteOffset(self.at);
            items.push((self.literal()?, at_item));
            if self.sign("]") {
                return Ok(Operand::List(items, at));
            }
            if !self.sign(",") {
                return Err(self.expected("`,` or `]`"));
            }
        }
    }

    fn name(&mut self) -> Result<Operand, InvalidCondition> {
        const RESERVED: [&str; 6] = ["and", "or", "not", "in", "is", "empty"];
        self.space();
        let at = self.at;
        let end = self.rest().find(|c: char| !is_name_char(c) && c != '.').unwrap_or(self.rest().len());
        let text = &self.rest()[..end];
        if text.is_empty() || RESERVED.contains(&text) {
            return Err(self.expected("a name"));
        }
        let reference = ValueReference::parse(text).map_err(|reason| InvalidCondition { at, reason })?;
        self.at += end;
        Ok(Operand::Value(reference, ByteOffset(at)))
    }

    fn literal(&mut self) -> Result<Literal, InvalidCondition> {
        self.space();
        if self.word("true") {
            return Ok(Literal::Bool(true));
        }
        if self.word("false") {
            return Ok(Literal::Bool(false));
        }
        match self.peek() {
            Some(quote @ ('\'' | '"')) => self.quoted(quote),
            Some(c) if c.is_ascii_digit() || c == '-' => self.number(),
            _ => Err(self.expected("a name, a number, `true`, `false` or a text in quotes")),
        }
    }

    fn number(&mut self) -> Result<Literal, InvalidCondition> {
        let at = self.at;
        let rest = self.rest();
        let end = rest[1..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| end + 1);
        let reason = || InvalidCondition { at, reason: "no whole number that fits".into() };
        let number = rest[..end].parse().map_err(|_| reason())?;
        self.at += end;
        Ok(Literal::Int(number))
    }

    fn quoted(&mut self, quote: char) -> Result<Literal, InvalidCondition> {
        let at = self.at;
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((offset, c)) = chars.next() {
            match c {
                '\\' => text.extend(chars.next().map(|(_, escaped)| escaped)),
                c if c == quote => {
                    self.at += offset + 1;
                    return Ok(Literal::Text(text));
                }
                c => text.push(c),
            }
        }
        Err(InvalidCondition { at, reason: "the quote is never closed".into() })
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn sign(&mut self, sign: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    fn at_word(&self, word: &str) -> bool {
        self.rest().strip_prefix(word).is_some_and(|rest| !rest.starts_with(|c| is_name_char(c) || c == '.'))
    }

    fn word(&mut self, word: &str) -> bool {
        self.space();
        let found = self.at_word(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn expected(&self, what: &str) -> InvalidCondition {
        let found = match self.rest().split_whitespace().next() {
            Some(word) => format!("`{word}`"),
            None => "the end".into(),
        };
        InvalidCondition { at: self.at, reason: format!("expected {what}, found {found}") }
    }
}
