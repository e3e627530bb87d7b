package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"adsync/base/secret"
)

const (
	// hashMark begins a token that is configured by its SHA-256. The hash reveals nothing about a random token.
	hashMark = "sha256:"
	// tokenMark begins the tokens of NewToken, so that secret scanners recognise them.
	tokenMark = "adsync_"
	// hashedLengthMin is the least length of a token that is configured by its hash: a short one could be found from it.
	hashedLengthMin = 32
)

// NewToken makes a random token.
func NewToken() secret.Text {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // It never fails.
	return secret.NewText(tokenMark + base64.RawURLEncoding.EncodeToString(raw))
}

// HashToken returns a token's entry for api.tokens.
func HashToken(token secret.Text) string {
	sum := sha256.Sum256([]byte(token.Reveal()))
	return hashMark + hex.EncodeToString(sum[:])
}

// hash returns the token's hash and its least length; ok is false for a text that begins like a hash and is not one.
func (t Token) hash() (sum [sha256.Size]byte, lengthMin int, ok bool) {
	text, hashed := strings.CutPrefix(t.Token.Reveal(), hashMark)
	if !hashed {
		return sha256.Sum256([]byte(text)), tokenLengthMin, true
	}
	raw, err := hex.DecodeString(text)
	return [sha256.Size]byte(append(raw, make([]byte, sha256.Size)...)), hashedLengthMin, err == nil &&
		len(raw) == sha256.Size
}
