package rawtable

// FaultKind says what a value that cannot be used costs.
type FaultKind string

// The kinds, the least first.
const (
	AttributeFault FaultKind = "attribute" // the value alone: the field is not set, or its text is repaired
	FutureFault    FaultKind = "future"    // nothing: the time is kept as data, and moves no mark
	FigureFault    FaultKind = "figure"    // the figure: it is not set, and the day is not whole
	KeyFault       FaultKind = "key"       // the row: it is not known what it is about, and the day is not whole
)

// IsNoValue reports whether a text is a word that platforms and partners write where there is no value.
func IsNoValue(text string) bool { return text == "" || text == "-" || text == "--" }
