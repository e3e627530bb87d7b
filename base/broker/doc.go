// Package broker moves messages over Kafka: it creates topics, writes messages and reads them as a member of a group.
//
// Delivery is at least once. A write whose answer is lost is sent again, and the next owner of a partition repeats
// what a dead reader had not finished. So every message can arrive more than once, and readers must be idempotent.
// Messages with one key keep their order within one Write, and are read in the order of their offsets.
//
// An offset is committed only when every message below it is finished (see Watermark). So no message is skipped
// because a later one was faster.
//
// No type of the Kafka library appears in this package's API.
package broker
