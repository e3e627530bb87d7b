package format

import "unicode/utf8"

// utf16Length returns how many UTF-16 code units a text in UTF-8 has.
func utf16Length(s []byte) int {
	n := utf8.RuneCount(s)
	for _, c := range s {
		if c >= 0xF0 { // It begins a character of two units.
			n++
		}
	}
	return n
}

// appendInlineString appends the rest of a cell that has a text.
func appendInlineString(b, s []byte) []byte {
	b = append(b, ` t="inlineStr"><is><t`...)
	if len(s) > 0 && (s[0] <= ' ' || s[len(s)-1] <= ' ') {
		b = append(b, ` xml:space="preserve"`...)
	}
	b = appendXMLText(append(b, '>'), s)
	return append(b, `</t></is></c>`...)
}

// plainXML has the bytes that stand for themselves wherever they are.
var plainXML = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = c >= ' ' || c == '\t' || c == '\n'
	}
	for _, c := range []byte{'&', '<', '>', '_', firstOfFFFE} {
		plain[c] = false
	}
	return plain
}()

// firstOfFFFE is the first byte of U+FFFE and U+FFFF in UTF-8.
const firstOfFFFE = 0xEF

// appendXMLText appends a text in UTF-8 as the text of an XLSX cell. A character that XML forbids, and a CR, which XML
// parsers turn into LF, is written as _xHHHH_. A text that looks like that has its first underscore written as _x005F_.
func appendXMLText(b, s []byte) []byte {
	begin := 0
	for i, c := range s {
		if plainXML[c] {
			continue
		}
		text, length := "", 1
		switch {
		case c == '&':
			text = "&amp;"
		case c == '<':
			text = "&lt;"
		case c == '>':
			text = "&gt;"
		case c == '_' && looksEscaped(s[i:]):
			text = "_x005F_"
		case isForbidden(s[i:]) && c == firstOfFFFE:
			text, length = "_xFFFE_", 3
			if s[i+2] == 0xBF {
				text = "_xFFFF_"
			}
		case isForbidden(s[i:]):
			const hex = "0123456789ABCDEF"
			text = "_x00" + string([]byte{hex[c>>4], hex[c&15]}) + "_"
		default:
			continue
		}
		b = append(append(b, s[begin:i]...), text...)
		begin = i + length
	}
	return append(b, s[begin:]...)
}

// isForbidden reports whether a text begins with a character that is written as _xHHHH_.
func isForbidden(s []byte) bool {
	if s[0] < ' ' {
		return s[0] != '\t' && s[0] != '\n'
	}
	return s[0] == firstOfFFFE && len(s) >= 3 && s[1] == 0xBF && s[2] >= 0xBE
}

// looksEscaped reports whether a text that begins with an underscore is read as _xHHHH_. The second underscore can be
// that of a forbidden character after it.
func looksEscaped(s []byte) bool {
	const hexEnd = len("_xHHHH")
	if len(s) <= hexEnd || s[1] != 'x' {
		return false
	}
	for _, c := range s[2:hexEnd] {
		if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return s[hexEnd] == '_' || isForbidden(s[hexEnd:])
}
