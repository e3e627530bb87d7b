package service

import (
	"os"
	"runtime/debug"
)

// heapGrowth is how much of what is in use may be added to the heap before it is collected, in percent. Subtasks leave much behind that is small; with Go's
// own 100 a collection comes twice as often, which costs a tenth of all the time that a busy process takes.
const heapGrowth = 200

// GrowHeap has the heap of this process grow by heapGrowth between collections, unless GOGC says something else.
func GrowHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
