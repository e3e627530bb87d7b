package broker

import (
	"fmt"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// compressions maps the names of Config.Compression to the codecs.
var compressions = map[string]kafka.Compression{
	"none":   0,
	"gzip":   kafka.Gzip,
	"snappy": kafka.Snappy,
	"lz4":    kafka.Lz4,
	"zstd":   kafka.Zstd,
}

// mechanism returns how to sign in; nil means not at all.
func (c SASLConfig) mechanism() (sasl.Mechanism, error) {
	switch c.Mechanism {
	case MechanismNone:
		return nil, nil
	case MechanismPlain:
		return plain.Mechanism{Username: c.Username, Password: c.Password.Reveal()}, nil
	case MechanismScramSHA256:
		return scram.Mechanism(scram.SHA256, c.Username, c.Password.Reveal())
	case MechanismScramSHA512:
		return scram.Mechanism(scram.SHA512, c.Username, c.Password.Reveal())
	default:
		return nil, fmt.Errorf("sasl.mechanism %q is not known", c.Mechanism)
	}
}
