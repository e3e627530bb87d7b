package rawtable

// FaultKind is the consequence of a value that cannot be used.
type FaultKind string

// The kinds, in increasing severity.
const (
	AttributeFault FaultKind = "attribute" // the value alone: the field is not set, or its text is repaired
	FutureFault    FaultKind = "future"    // none: the time is kept as data, and moves no mark
	FigureFault    FaultKind = "figure"    // the figure: it is not set, and the day is not whole
	KeyFault       FaultKind = "key"       // the row: its subject is unknown, and the day is not whole
)

// IsNoValue reports whether a text is a word that platforms and partners write for a missing value.
func IsNoValue(text string) bool { return text == "" || text == "-" || text == "--" }
