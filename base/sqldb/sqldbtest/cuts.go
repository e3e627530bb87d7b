package sqldbtest

import (
	"sync"

	"github.com/go-sql-driver/mysql"

	"adsync/base/sqldb"
)

// Cut is the fate of a write.
type Cut int

// The cuts: a write passes, or the connection is cut.
const (
	Passes Cut = iota
	Lost       // The connection is cut before the write arrives.
	Unseen     // The write is done, and the answer is lost.
)

// Cuts decides the fate of each write: of a commit, or of a statement outside a transaction. It cuts none until Set
// is called.
type Cuts struct {
	Met  int // how many writes were cut
	mu   sync.Mutex
	plan []Cut
}

// CutWrites passes the commits and the single statements of a database's writer through Cuts.
func CutWrites(d *sqldb.DB) *Cuts {
	c := &Cuts{}
	BreakCommits(d, c.around)
	BreakStatements(d, c.around)
	return c
}

// Set defines the fate of the next writes. Later ones pass.
func (c *Cuts) Set(plan ...Cut) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan = plan
}

func (c *Cuts) next() Cut {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.plan) == 0 {
		return Passes
	}
	k := c.plan[0]
	c.plan = c.plan[1:]
	if k != Passes {
		c.Met++
	}
	return k
}

func (c *Cuts) around(do func() error) error {
	switch c.next() {
	case Lost:
		return mysql.ErrInvalidConn
	case Unseen:
		if err := do(); err != nil {
			return err
		}
		return mysql.ErrInvalidConn
	default:
		return do()
	}
}
