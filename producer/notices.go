package producer

import (
	"time"

	"adsync/producer/notice"
)

// noticeInterval is how often a slot of notices is read.
const noticeInterval = time.Second

// notices is the loop that sends the notices of one slot.
type notices struct {
	passes passes
	sender notice.Sender
}
