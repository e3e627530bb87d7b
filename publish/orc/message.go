package orc

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is a field of a protobuf message.
type field struct {
	id     protowire.Number
	number uint64 // the value of an integer
	bytes  []byte // the value of a text, a message or packed integers
}

// eachField calls f for each field of a message that is an integer or has bytes, in the message's order. The format
// has no other fields that are needed.
func eachField(message []byte, f func(field) error) error {
	for len(message) > 0 {
		id, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fmt.Errorf("read the tag of a field: %w", protowire.ParseError(n))
		}
		message = message[n:]
		v := field{id: id}
		switch kind {
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(message)
		default:
			if n = protowire.ConsumeFieldValue(id, kind, message); n >= 0 {
				message = message[n:]
				continue
			}
		}
		if n < 0 {
			return fmt.Errorf("read the field %d: %w", id, protowire.ParseError(n))
		}
		message = message[n:]
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// appendNumbers appends the integers of a repeated field, which may be packed. There may be typesMax of them.
func appendNumbers(list []uint64, v field) ([]uint64, error) {
	if v.bytes == nil {
		list = append(list, v.number)
	}
	for b := v.bytes; len(b) > 0 && len(list) <= typesMax; {
		number, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, fmt.Errorf("read a number of the field %d: %w", v.id, protowire.ParseError(n))
		}
		list, b = append(list, number), b[n:]
	}
	if len(list) > typesMax {
		return nil, fmt.Errorf("the field %d has more than %d numbers", v.id, typesMax)
	}
	return list, nil
}
