package trace

import (
	"errors"
	"fmt"
	"net/url"

	"adsync/base/config"
)

// Config defines where traces go, and what part of the subtasks is traced.
type Config struct {
	Endpoint string  `koanf:"endpoint" doc:"Address of an OTLP receiver over HTTP that gets the traces of subtasks, such as http://otel-collector:4318. Empty means that nothing is traced."`
	Ratio    float64 `koanf:"ratio" doc:"Part of the subtasks that is traced; the setting of the producer that sends them applies. 0.01 is one in a hundred."`
}

// DefaultConfig returns settings that trace nothing.
func DefaultConfig() Config { return Config{Ratio: 0.01} }

// Validate returns every setting that cannot be used.
func (c Config) Validate() error {
	var errs []error
	u, err := url.Parse(c.Endpoint)
	if c.Endpoint != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil ||
		u.RawQuery != "") {
		// The address is not shown: it may contain a password.
		errs = append(errs, &config.FieldError{Key: "endpoint",
			Want: "an address such as http://otel-collector:4318, without a password: headers come from " +
				"OTEL_EXPORTER_OTLP_HEADERS"})
	}
	if !(c.Ratio >= 0 && c.Ratio <= 1) { // NaN is neither.
		errs = append(errs, &config.FieldError{Key: "ratio", Value: fmt.Sprint(c.Ratio), Want: "0 to 1"})
	}
	return errors.Join(errs...)
}
