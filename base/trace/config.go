package trace

import (
	"errors"
	"fmt"
	"net/url"

	"adsync/base/config"
)

// Config says where traces go, and of how much there are any.
type Config struct {
	Endpoint string  `koanf:"endpoint" doc:"Address of an OTLP receiver over HTTP, such as http://otel-collector:4318, that is told of what subtasks do. Empty means that nothing is traced."`
	Ratio    float64 `koanf:"ratio" doc:"Which part of the subtasks is traced, as the producer that sends them has it: 0.01 is one in a hundred."`
}

// DefaultConfig traces nothing.
func DefaultConfig() Config { return Config{Ratio: 0.01} }

// Validate reports every setting that cannot be used.
func (c Config) Validate() error {
	var errs []error
	u, err := url.Parse(c.Endpoint)
	if c.Endpoint != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "") {
		// The address is not shown: it may hold a password.
		errs = append(errs, &config.FieldError{Key: "endpoint", Want: "an address such as http://otel-collector:4318, without a password: headers come from OTEL_EXPORTER_OTLP_HEADERS"})
	}
	if !(c.Ratio >= 0 && c.Ratio <= 1) { // Not a number is neither.
		errs = append(errs, &config.FieldError{Key: "ratio", Value: fmt.Sprint(c.Ratio), Want: "0 to 1"})
	}
	return errors.Join(errs...)
}
