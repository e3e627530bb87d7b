package redis

import "strings"

// Keys names the keys of one deployment.
type Keys struct{ prefix string }

// NewKeys returns the names that begin with prefix, which is Config.KeyPrefix.
func NewKeys(prefix string) Keys { return Keys{prefix: prefix} }

// Prefix returns the beginning of every key, without the colon that follows it.
func (k Keys) Prefix() string { return k.prefix }

// partEscaper escapes characters in user-chosen parts that have a meaning in a key: two different lists of parts
// never give one key, and a brace in a part never moves the key to another slot.
var partEscaper = strings.NewReplacer("%", "%25", ":", "%3A", "{", "%7B", "}", "%7D")

// Of returns "prefix:{tag}:part:part…". A cluster keeps all keys of one tag on one server, so that a script or a
// transaction may use several of them. An empty tag is written as "-", because a cluster ignores empty braces.
func (k Keys) Of(tag string, parts ...string) string {
	if tag == "" {
		tag = "-"
	}
	var b strings.Builder
	b.WriteString(k.prefix)
	b.WriteString(":{")
	b.WriteString(partEscaper.Replace(tag))
	b.WriteByte('}')
	for _, part := range parts {
		b.WriteByte(':')
		b.WriteString(partEscaper.Replace(part))
	}
	return b.String()
}
