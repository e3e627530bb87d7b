package consumer

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"adsync/base/broker"
	"adsync/base/task"
)

// partMax is the width of the column part.
const partMax = 96

// readEnvelope reads a message's headers. With an error it returns the fields that could be read. Keyed reports whether
// they name a delivery of a subtask, in whose row the error can then be recorded.
func readEnvelope(from *task.Envelopes, m *broker.Message) (e task.Envelope, keyed bool, err error) {
	get := headers(m.Headers)
	e, err = from.Parse(get)
	if isForeign(err) {
		// The key and the delivery number have the same names in every version.
		e, _ = from.Parse(func(name string) []byte {
			if name == "adsync-version" {
				return strconv.AppendInt(nil, task.EnvelopeVersion, 10)
			}
			return get(name)
		})
	}
	if err != nil && !hasKey(get) {
		return e, false, err
	}
	if bad := checkKey(e); bad != nil {
		return e, false, errors.Join(err, bad)
	}
	return e, true, err
}

// isForeign reports whether an envelope has a version that this program does not know.
func isForeign(err error) bool {
	_, ok := errors.AsType[*task.VersionError](err)
	return ok
}

// hasKey reports whether the headers name a delivery of a subtask, whatever else is wrong with them.
func hasKey(get func(string) []byte) bool {
	for _, name := range []string{"run", "account", "delivery"} {
		if _, err := strconv.ParseInt(string(get(name)), 10, 64); err != nil {
			return false
		}
	}
	return true
}

// checkKey refuses keys and counters that no producer writes and that do not fit their columns: the database would
// refuse the statement and all other subtasks in it.
func checkKey(e task.Envelope) error {
	switch {
	case len(e.Part) > partMax || !utf8.ValidString(e.Part):
		return fmt.Errorf("header part: %q is not text of up to %d bytes", e.Part, partMax)
	case e.RunID <= 0:
		return fmt.Errorf("header run: %d is not the id of a run", e.RunID)
	case e.Delivery < 1 || e.Delivery > math.MaxInt32:
		return fmt.Errorf("header delivery: %d is not in 1 to %d", e.Delivery, math.MaxInt32)
	case e.Attempt < 0 || e.Attempt >= math.MaxInt32:
		return fmt.Errorf("header attempt: %d is not in 0 to %d", e.Attempt, math.MaxInt32-1)
	}
	return nil
}

func headers(list []broker.Header) func(name string) []byte {
	return func(name string) []byte {
		for i := range list {
			if list[i].Key == name {
				return list[i].Value
			}
		}
		return nil
	}
}
