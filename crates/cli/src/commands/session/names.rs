//! Names for sessions: people to whom computing owes something, each with a line on what.

/// A name for a session, and whose it is.
#[derive(Debug)]
pub(super) struct SessionName {
    pub(super) word: &'static str,
    pub(super) person: &'static str,
    pub(super) background: &'static str,
}

const fn name(word: &'static str, person: &'static str, background: &'static str) -> SessionName {
    SessionName { word, person, background }
}

pub(super) const NAMES: &[SessionName] = &[
    name("ada", "Ada Lovelace", "wrote the first published program, for an engine that was never built."),
    name("alan", "Alan Turing", "said what can be computed at all, before there was a machine to try it on."),
    name("grace", "Grace Hopper", "made compilers believable, and programs readable by those who pay for them."),
    name("edsger", "Edsger Dijkstra", "found the shortest path over a cup of coffee, and argued for structure."),
    name("barbara", "Barbara Liskov", "made data abstraction practical, and said what a subtype must keep."),
    name("donald", "Donald Knuth", "counts every instruction, and typeset the books that explain them."),
    name("margaret", "Margaret Hamilton", "led the software of the Apollo flights and insisted it be engineering."),
    name("dennis", "Dennis Ritchie", "made C and, with Ken Thompson, a system to write in it."),
    name("ken", "Ken Thompson", "built Unix in a few weeks, and later asked whom a compiler can trust."),
    name("katherine", "Katherine Johnson", "computed orbits by hand that machines were then checked against."),
    name("shannon", "Claude Shannon", "measured information, and saw logic in switching circuits."),
    name("hedy", "Hedy Lamarr", "patented frequency hopping between films."),
    name("konrad", "Konrad Zuse", "built a programmable computer in his parents' living room."),
    name("radia", "Radia Perlman", "taught bridges to agree on a tree, so that networks could grow."),
    name("tim", "Tim Berners-Lee", "linked documents across machines and gave the idea away."),
    name("frances", "Frances Allen", "showed compilers how to see the whole program and make it fast."),
    name("john", "John McCarthy", "named artificial intelligence and wrote Lisp in terms of itself."),
    name("leslie", "Leslie Lamport", "put events of many machines in order, without a common clock."),
    name("karen", "Karen Spärck Jones", "noticed that rare words say most, and made search work."),
    name("niklaus", "Niklaus Wirth", "designed languages as small as they could be, and systems to match."),
    name("tony", "Tony Hoare", "sorted quickly, reasoned about programs, and regretted the null."),
    name("adele", "Adele Goldberg", "brought Smalltalk and its windows to people who were not programmers."),
    name("vint", "Vint Cerf", "with Bob Kahn made networks of any kind speak as one."),
    name("shafi", "Shafi Goldwasser", "proved that one can prove without telling."),
    name("linus", "Linus Torvalds", "shared a kernel, and then a way to share everything else."),
    name("lynn", "Lynn Conway", "made chip design something that could be taught in a semester."),
    name("jim", "Jim Gray", "said what a transaction promises, and how to keep it."),
    name("sophie", "Sophie Wilson", "wrote the instruction set that is now in almost every pocket."),
    name("alonzo", "Alonzo Church", "reduced computing to functions, and nothing else."),
    name("kathleen", "Kathleen Booth", "wrote one of the first assemblers, and the first book about such work."),
    name("douglas", "Douglas Engelbart", "showed mouse, links and shared screens in a single afternoon."),
    name("joan", "Joan Clarke", "broke naval messages by finding what the method had missed."),
    name("robin", "Robin Milner", "let programs have types without writing them, and processes a calculus."),
    name("whitfield", "Whitfield Diffie", "asked how strangers can share a secret in public, and answered it."),
    name("stephanie", "Stephanie Shirley", "founded a software company of women who worked from home."),
    name("fernando", "Fernando Corbató", "let many people use one computer, and gave each a password."),
    name("annie", "Annie Easley", "programmed rockets at NASA after years of computing by hand."),
    name("fred", "Fred Brooks", "learned from a late system that adding people makes it later."),
    name("mary", "Mary Kenneth Keller", "was among the first with a doctorate in computer science."),
    name("peter", "Peter Naur", "wrote down grammars, and saw programming as building a theory."),
    name("evelyn", "Evelyn Boyd Granville", "wrote programs for the first American flights into orbit."),
    name("kay", "Alan Kay", "imagined a computer for children, with objects that send messages."),
    name("jean", "Jean Bartik", "programmed the ENIAC with plugs and switches, and found its faults."),
    name("backus", "John Backus", "made Fortran fast enough that programmers stopped missing assembly."),
    name("erna", "Erna Schneider Hoover", "kept telephone exchanges from drowning in calls."),
    name("bjarne", "Bjarne Stroustrup", "gave C classes, without asking it to be slower."),
    name("anita", "Anita Borg", "tuned memory systems, and connected the women who build them."),
    name("guido", "Guido van Rossum", "wrote a language over Christmas that beginners can read."),
];
