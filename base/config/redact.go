package config

import "regexp"

var (
	// withScheme and withoutScheme match the user and password in an address, up to the last @ that may end them; a
	// password may have commas. alone matches a password or user before the host and port of an address without a
	// scheme.
	withScheme    = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s"]*@`)
	withoutScheme = regexp.MustCompile(`(^|[\s,\[{"'=])[^\s,@/"'=:<\[{]*:(?:[^\s,@/][^\s,@]*)?@`)
	alone         = regexp.MustCompile(`(^|[\s,\[{"'=])[^\s,@/"'=:<\[{]+@([^\s,@/"'=:]+:[0-9])`)
	// inQuery matches a parameter of an address whose name marks a secret.
	inQuery = regexp.MustCompile(`(?i)([?&][^=&\s]*(?:token|secret|passw|key|sign|auth)[^=&\s]*=)[^&\s,]+`)
)

// Redacted returns a text without the passwords of the addresses in it. A setting that is not a secret may contain
// one by mistake, and its printed form goes to logs and tickets.
func Redacted(text string) string {
	text = withScheme.ReplaceAllString(text, "${1}<secret>@")
	text = withoutScheme.ReplaceAllString(text, "${1}<secret>@")
	text = alone.ReplaceAllString(text, "${1}<secret>@${2}")
	return inQuery.ReplaceAllString(text, "${1}<secret>")
}
