package broker

import "time"

// Header is one named value that travels with a message.
type Header struct {
	Key   string
	Value []byte
}

// Message is what is written to and read from a topic.
//
// A writer fills Topic, Key, Value and Headers. The broker sets Partition and Offset; a write ignores them. Messages
// with equal keys share a partition. Messages without a key are spread.
type Message struct {
	Topic     string
	Key       []byte
	Value     []byte
	Headers   []Header
	Partition int
	Offset    int64
	// Time is in UTC with milliseconds. Zero in a write means the writing process's own clock. The broker counts
	// retention from it. Nothing else may depend on it.
	Time time.Time
}

// Position is the place of a written message.
type Position struct {
	Topic     string
	Partition int   // -1 if the write failed before a partition was chosen
	Offset    int64 // -1 if the broker did not report it, or the message was not written
}
