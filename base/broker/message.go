package broker

import "time"

// Header is one named value that travels beside a message.
type Header struct {
	Key   string
	Value []byte
}

// Message is what is written to and read from a topic.
//
// A writer fills Topic, Key, Value and Headers; Partition and Offset are the broker's and are ignored in a write.
// Messages with equal keys share a partition; messages without a key are spread.
type Message struct {
	Topic     string
	Key       []byte
	Value     []byte
	Headers   []Header
	Partition int
	Offset    int64
	// Time is in UTC with milliseconds. Zero in a write means the writing process's own clock. The broker counts
	// retention from it; nothing else may be decided by it.
	Time time.Time
}

// Position is the place of a written message.
type Position struct {
	Topic     string
	Partition int   // -1 when no partition was chosen before the write failed
	Offset    int64 // -1 when the broker did not tell, or the message was not written
}
