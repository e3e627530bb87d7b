package wire

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Decimal is a number from a JSON number or a string, kept with its exact digits.
type Decimal struct {
	negative bool
	digits   string // without leading zeros; "" is zero
	exponent int    // the value is digits × 10^exponent
	set      bool
	text     string // as it was written
}

// Bounds that no figure of a report reaches: a number beyond them means a broken answer.
const (
	decimalMax  = 64
	exponentMax = 40
)

// UnmarshalJSON implements json.Unmarshaler.
func (d *Decimal) UnmarshalJSON(data []byte) error {
	text, err := literal(data)
	if errors.Is(err, errEmpty) {
		*d = Decimal{}
		return nil
	}
	if err != nil {
		return err
	}
	*d, err = ParseDecimal(text)
	return err
}

// ParseDecimal reads "12", "-0.50", "3e2"; an empty text is not set.
func ParseDecimal(text string) (Decimal, error) {
	if text == "" {
		return Decimal{}, nil
	}
	refused := func() (Decimal, error) { return Decimal{}, fmt.Errorf("%.40q is not a number", text) }
	if len(text) > decimalMax {
		return refused()
	}
	d := Decimal{set: true, text: text}
	rest := text
	if r, ok := strings.CutPrefix(rest, "-"); ok {
		d.negative, rest = true, r
	}
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		e, err := strconv.Atoi(strings.TrimPrefix(rest[i+1:], "+"))
		if err != nil || e > exponentMax || e < -exponentMax {
			return refused()
		}
		d.exponent, rest = e, rest[:i]
	}
	whole, fraction, _ := strings.Cut(rest, ".")
	d.exponent -= len(fraction)
	d.digits = whole + fraction
	if whole == "" || strings.Trim(d.digits, "0123456789") != "" {
		return refused()
	}
	d.digits = strings.TrimLeft(d.digits, "0")
	return d, nil
}

// IsSet reports whether the value was a number.
func (d Decimal) IsSet() bool { return d.set }

// Scaled returns the value × 10^places as an integer, rounded half away from zero. It returns an error if the integer
// does not fit.
func (d Decimal) Scaled(places int) (int64, error) {
	shift := d.exponent + places
	digits := d.digits
	roundUp := false
	switch {
	case digits == "":
		return 0, nil
	case shift >= 0:
		if len(digits)+shift > 19 {
			return 0, fmt.Errorf("%s × 10^%d is too large", digits, shift)
		}
		digits += strings.Repeat("0", shift)
	case -shift > len(digits):
		return 0, nil
	default:
		cut := len(digits) + shift
		roundUp = digits[cut] >= '5'
		digits = digits[:cut]
	}
	n := uint64(0)
	if digits != "" {
		var err error
		if n, err = strconv.ParseUint(digits, 10, 64); err != nil {
			return 0, fmt.Errorf("%s is too large", digits)
		}
	}
	if roundUp {
		n++
	}
	if n > math.MaxInt64 {
		return 0, fmt.Errorf("%d is too large", n)
	}
	if d.negative {
		return -int64(n), nil
	}
	return int64(n), nil
}

// Exact returns the value × 10^places as an integer. It returns an error if that is not a whole number, or does not
// fit.
func (d Decimal) Exact(places int) (int64, error) {
	shift := d.exponent + places
	if shift >= 0 || strings.Trim(d.digits[max(len(d.digits)+shift, 0):], "0") == "" {
		return d.Scaled(places)
	}
	if places == 0 {
		return 0, fmt.Errorf("%s has a fraction", d.text)
	}
	return 0, fmt.Errorf("%s has more than %d decimal places", d.text, places)
}

// in is Scaled where the value may be rounded, otherwise Exact.
func (d Decimal) in(places int, rounded bool) (int64, error) {
	if rounded {
		return d.Scaled(places)
	}
	return d.Exact(places)
}

// Int returns the value of a number without a fraction ("12", also "12.00").
func (d Decimal) Int() (int64, error) { return d.Exact(0) }

// Column returns the value × 10^places for a column: nil when it is not set.
func (d Decimal) Column(places int) (any, error) {
	if !d.set {
		return nil, nil
	}
	return d.Scaled(places)
}
