package media

// Proof is what shows that the pages of a query hold all of its rows. All pages of a query have the same one.
type Proof int

const (
	// ByTotal is for platforms that report the number of rows. The pages hold all rows if every page has the same total
	// and as many distinct rows came.
	ByTotal Proof = iota
	// ByRepeat is for platforms that report no total, however their pages end. One reading proves nothing: a removed row
	// moves the rows after it to pages that were read, and an answer may be cut off. The query is therefore read until
	// two readings in a row have the same rows, each of them once.
	//
	// Two such readings miss no row that was there throughout. If the first reading misses one, it has a row in its place
	// that is gone when it ends, as all pages but the last with rows are full. The second reading lacks that row. This
	// assumes that a removed row does not return in between. Where a platform filters the rows of a page after it cut
	// the pages, removed rows that it hides must also not be at the same place in both readings.
	ByRepeat
	// ByCursor is for pages that each continue after the last row of the page before, in the order of a unique key that
	// never changes, and whose last page the platform marks. A removed row moves no other row, and an answer that was
	// cut off has no end. One reading has each row that was there throughout. Without the mark it is ByRepeat.
	ByCursor
)
