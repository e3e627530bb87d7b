package tencent

import (
	"net/http"
	"strings"

	"adsync/media"
)

var _ media.QuotaTeller = Platform{}

// QuotaLeft implements media.QuotaTeller. The header holds what is left to the app at the endpoint of the day and of the
// minute: "50%,50%" (page "How to receive answers", 如何接收应答).
func (Platform) QuotaLeft(header http.Header) string {
	left := header.Get("X-RateLimit-Remaining")
	if left == "" {
		return ""
	}
	day, minute, both := strings.Cut(left, ",")
	if !both {
		return left
	}
	return strings.TrimSpace(day) + " of the day, " + strings.TrimSpace(minute) + " of the minute"
}
