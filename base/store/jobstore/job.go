package jobstore

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Priorities of jobs within a queue. The highest is claimed first.
const (
	PriorityMax     = 9
	PriorityDefault = 4
)

// lastTry is added to the band of a job whose last try is under way.
const lastTry = PriorityMax + 1

// QueueID identifies a queue in the tables.
type QueueID int64

// Queue is a queue's name. Both parts are ASCII, with at most 255 letters.
type Queue struct{ Namespace, Name string }

// ID returns the queue's number: two names have the same one about as often as two random numbers of 64 bits.
func (q Queue) ID() QueueID {
	sum := sha256.Sum256([]byte(q.Namespace + "\x00" + q.Name))
	return QueueID(binary.BigEndian.Uint64(sum[:8])) //nolint:gosec // Any 64 bits.
}

// ID is a job's id: the millisecond of its publication and 80 bits, of which the first shows its table.
type ID ulid.ULID

// keptMark is the bit of an id's seventh byte that marks a job which was published into job_kept.
const keptMark = 0x80

// watchedMark is the bit of an id's seventh byte that marks, together with keptMark, a job whose end is noted. Ids of
// programs without watched jobs may have it too: they have no row in job_watched.
const watchedMark = 0x40

// newest is the last id of this process. Ids of one millisecond count up from it, so that jobs which are published
// together are delivered in their order.
var newest struct {
	sync.Mutex
	id ulid.ULID
}

// NewID returns an id for a job that is published now. Of two ids of a process for the same moment, the later one is
// the greater, if both are kept or neither is.
func NewID(now time.Time, kept bool) ID {
	newest.Lock()
	defer newest.Unlock()
	ms := uint64(max(0, now.UnixMilli()))
	if count := binary.BigEndian.Uint64(newest.id[8:]) + 1; newest.id.Time() == ms && count != 0 {
		binary.BigEndian.PutUint64(newest.id[8:], count)
	} else {
		_, _ = rand.Read(newest.id[6:]) // It never fails.
		_ = newest.id.SetTime(ms)
		newest.id[6] &^= keptMark | watchedMark
		newest.id[8] >>= 1 // So it counts up far enough.
	}
	id := newest.id
	if kept {
		id[6] |= keptMark
	}
	return ID(id)
}

// ParseID reads the text of an id. ok is false for any text that String never returns.
func ParseID(text string) (id ID, ok bool) {
	read, err := ulid.ParseStrict(text)
	return ID(read), err == nil && read.String() == text
}

// String returns the id in 26 letters and digits.
func (id ID) String() string { return ulid.ULID(id).String() }

// Published returns when the job was published, in UTC.
func (id ID) Published() time.Time { return ulid.ULID(id).Timestamp().UTC() }

func (id ID) kept() bool { return id[6]&keptMark != 0 }

// Watched reports whether the end of the job is noted, if it is the id of a watched job.
func (id ID) Watched() bool { return id[6]&(keptMark|watchedMark) == keptMark|watchedMark }

func (id *ID) scan(raw []byte) error {
	if len(raw) != len(id) {
		return fmt.Errorf("a job's id has %d bytes: want %d", len(raw), len(id))
	}
	copy(id[:], raw)
	return nil
}

// Job is a job of a queue.
type Job struct {
	Queue      QueueID
	ID         ID
	Priority   int       // 0 to PriorityMax
	ReadyAt    time.Time // when it may be claimed, or when its claim lapses
	ExpiresAt  time.Time // when it is dropped if it is not claimed; zero for never
	Tries      int       // how often it may still be claimed
	Claims     int64     // how often it was claimed; the number of the present claim
	Body       []byte
	Attributes []byte        // JSON, or nil
	Backoff    string        // a Backoff, or "" for the queue's
	TTR        time.Duration // how long each claim lasts; 0 for as long as the consumer wants
	State      []byte        // kept by the worker that released it, or nil
	Released   int64         // how often its claims were released; each took a number of a claim

	table string // where it was found; "" for one that is not written yet
}

// Expired reports whether the job is dropped instead of claimed.
func (j Job) Expired(now time.Time) bool { return !j.ExpiresAt.IsZero() && !j.ExpiresAt.After(now) }

// DeadJob is a job whose tries are spent.
type DeadJob struct {
	Job

	DiedAt time.Time
	Error  string // of its last try, or ""
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
