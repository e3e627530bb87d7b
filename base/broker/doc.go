// Package broker moves messages over Kafka: it makes topics, writes messages and reads them as a member of a group.
//
// Delivery is at least once. A write whose answer is lost is sent again, and a reader that dies leaves what it had
// not finished to the next owner of the partition, so every message can arrive more than once: readers must be
// idempotent. Messages with one key keep their order within one Write, and are read in the order of their offsets.
//
// An offset is committed only when every message below it is finished (see Watermark), so a message is never
// skipped because a later one was faster.
//
// No type of the Kafka library appears in this package's API.
package broker
