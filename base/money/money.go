// Package money formats amounts of money. It knows how many decimals the amounts of each currency have.
package money

import (
	"fmt"
	"strconv"
)

// micros is one unit of a currency: all amounts are in millionths.
const micros = 1_000_000

// decimals has the currencies (ISO 4217) whose amounts do not have two decimals.
var decimals = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0, "UYI": 0,
	"VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

func decimalsOf(currency string) int {
	if n, known := decimals[currency]; known {
		return n
	}
	return 2
}

// Smallest returns the smallest amount of a currency, to which platforms round: a fen, a yen. That of an unknown
// currency is a hundredth.
func Smallest(currency string) int64 {
	smallest := int64(micros)
	for range decimalsOf(currency) {
		smallest /= 10
	}
	return smallest
}

// Format returns an amount with the decimals of its currency, and with commas between thousands. It cuts off further
// decimals.
func Format(amount int64, currency string) string {
	smallest := Smallest(currency)
	whole, rest := amount/micros, amount%micros/smallest
	sign := ""
	if whole < 0 || rest < 0 {
		sign, whole, rest = "-", -whole, -rest
	}
	text := strconv.FormatInt(whole, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if n := decimalsOf(currency); n > 0 {
		text += fmt.Sprintf(".%0*d", n, rest)
	}
	return sign + text
}
