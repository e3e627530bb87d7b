package place

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of names, in bytes. A file system takes 255 bytes for a segment. The temporary name of a file of 222 bytes
// has up to 255. An S3 key has up to 1024 bytes, which include the prefix.
const (
	segmentMax = 222
	nameMax    = 768
	prefixMax  = 255
)

// The temporary name of "sales.csv" in delivery 17 is ".sales.csv.adsync-17.part".
const (
	temporaryMark = ".adsync-"
	temporaryEnd  = ".part"
)

// CheckName refuses a name that a file cannot be delivered under. A name has up to 768 bytes of UTF-8, and its segments
// between slashes have 1 to 222 bytes. It is not absolute. Control characters, backslashes, the segments "." and "..",
// spaces at either end of a segment and the names of temporary files are not allowed.
func CheckName(name string) error {
	want := wrongName(name, nameMax)
	if want == "" {
		return nil
	}
	return refuse(fmt.Errorf("file name %q is refused: want %s", name, want))
}

// wrongName returns what would be right instead of a name, "" for a valid one.
func wrongName(name string, most int) (want string) {
	switch {
	case name == "":
		return "a name"
	case len(name) > most:
		return fmt.Sprintf("at most %d bytes", most)
	case !utf8.ValidString(name):
		return "UTF-8"
	case strings.HasPrefix(name, "/"):
		return "a name without a slash at its start"
	case strings.ContainsRune(name, '\\'):
		return "slashes instead of backslashes"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "no control characters"
	}
	for segment := range strings.SplitSeq(name, "/") {
		_, _, temporary := parseTemporary(segment)
		switch {
		case segment == "":
			return "a name between two slashes and after the last one"
		case segment == "." || segment == "..":
			return `no segments "." and ".."`
		case len(segment) > segmentMax:
			return fmt.Sprintf("at most %d bytes between two slashes", segmentMax)
		case strings.TrimSpace(segment) != segment:
			return "no spaces next to a slash or at either end"
		case temporary:
			return "a name unlike those of temporary files"
		}
	}
	return ""
}

// temporary returns the name of a delivery's temporary file, in the directory of its name.
func temporary(name string, delivery int64) string {
	dir, base := path.Split(name)
	return dir + "." + base + temporaryMark + strconv.FormatInt(delivery, 10) + temporaryEnd
}

// parseTemporary returns the last segment of the name, and the delivery, of a temporary file.
func parseTemporary(segment string) (base string, delivery int64, ok bool) {
	rest, ok := strings.CutSuffix(segment, temporaryEnd)
	at := strings.LastIndex(rest, temporaryMark)
	if !ok || at < 2 || rest[0] != '.' {
		return "", 0, false
	}
	number := rest[at+len(temporaryMark):]
	delivery, err := strconv.ParseInt(number, 10, 64)
	if err != nil || delivery <= 0 || strconv.FormatInt(delivery, 10) != number {
		return "", 0, false
	}
	return rest[1:at], delivery, true
}
